//! The Unix socket over which programs of the same user announce and listen, if one is configured.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::node::Node;

/// A socket that is bound and not yet served.
#[derive(Debug)]
pub struct AaepSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl AaepSocket {
    /// None if the path is empty. A socket without a listener is left over from an earlier run, and
    /// replaced.
    pub fn bind(path: &Path) -> Result<Option<Self>> {
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        let failed = || format!("cannot make the AAEP socket {}", path.display());
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(failed)?;
        }
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                bail!("aaep_socket: {} is there, and is no socket", path.display());
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                bail!("aaep_socket: another server has {}", path.display());
            }
            Ok(_) => std::fs::remove_file(path).with_context(failed)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(failed),
        }
        let listener = UnixListener::bind(path).with_context(failed)?;
        // The user of a client that connected before this is checked too.
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(failed)?;
        Ok(Some(Self { listener, path: path.to_owned() }))
    }

    pub fn serve(self, node: &Node) -> (JoinHandle<()>, PathBuf) {
        let uid = rustix::process::geteuid().as_raw();
        let serving = gateways::http::serve_aaep_socket(node.aaep.clone(), self.listener, uid);
        (tokio::spawn(serving), self.path)
    }
}
