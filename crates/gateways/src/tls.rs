//! The certificate and key a TLS endpoint answers with.
//!
//! Reads two PEM files into a rustls configuration and reports what is wrong with them. It must not
//! know about sockets or requests, and it never repeats the content of a file: one of them is a
//! secret.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The listener speaks HTTP/1.1 only, and a client that offers h2 first must be told so in the
/// handshake.
const ALPN: &[u8] = b"http/1.1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM, the server's own certificate first, then its issuers up to but without the root.
    pub certificate_chain: PathBuf,
    /// PEM, one unencrypted key in PKCS#8, PKCS#1 or SEC1.
    pub private_key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("reading {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "reading {}: expected a PEM certificate chain (-----BEGIN CERTIFICATE-----), {found}",
        path.display()
    )]
    NoCertificate { path: PathBuf, found: &'static str },
    #[error(
        "reading {}: expected an unencrypted PEM private key (-----BEGIN PRIVATE KEY-----), \
         {found}",
        path.display()
    )]
    NoPrivateKey { path: PathBuf, found: &'static str },
    #[error(
        "using {} with {}: expected a certificate chain and the key of its first certificate: \
         {source}",
        certificate_chain.display(), private_key.display()
    )]
    Unusable { certificate_chain: PathBuf, private_key: PathBuf, source: rustls::Error },
    #[error("choosing the TLS versions: {0}")]
    Versions(#[source] rustls::Error),
}

/// Reads both files once; a renewed certificate needs a new configuration.
pub fn server_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificate_chain(&files.certificate_chain)?;
    let key = private_key(&files.private_key)?;
    // Named here rather than installed for the process: two crates that install one would race.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Versions)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|source| TlsError::Unusable {
            certificate_chain: files.certificate_chain.clone(),
            private_key: files.private_key.clone(),
            source,
        })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

fn certificate_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let no_certificate = |found| TlsError::NoCertificate { path: path.to_owned(), found };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| no_certificate(what_was_found(&error)))?;
    if chain.is_empty() {
        return Err(no_certificate(what_was_found(&pem::Error::NoItemsFound)));
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| TlsError::NoPrivateKey {
        path: path.to_owned(),
        found: what_was_found(&error),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}

/// The parser's own errors quote the file, and the file may be a key.
fn what_was_found(error: &pem::Error) -> &'static str {
    if matches!(error, pem::Error::NoItemsFound) { "found none" } else { "found broken PEM" }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_certificate_and_its_key_are_loaded_for_http_1() {
        let made = MadeFiles::new("loaded");
        let config = server_config(&made.files).expect("a usable pair");
        assert_eq!(config.alpn_protocols, [b"http/1.1".to_vec()]);
    }

    #[test]
    fn an_error_names_the_file_and_what_was_expected() {
        let made = MadeFiles::new("errors");
        let other = MadeFiles::new("errors-other");
        let (chain, key) = (&made.files.certificate_chain, &made.files.private_key);
        let missing = made.write("missing-not.pem", None);
        let empty = made.write("empty.pem", Some(""));
        let broken = made.write("broken.pem", Some("-----BEGIN PRIVATE KEY-----\nc2VjcmV0"));
        let broken_chain = made.write("broken-chain.pem", Some("-----BEGIN CERTIFICATE-----\n!"));
        let no_chain = "expected a PEM certificate chain";
        let no_key = "expected an unencrypted PEM private key";
        // (certificate chain, private key, file named, words said)
        let cases = [
            (&missing, key, &missing, "No such file"),
            (chain, &missing, &missing, "No such file"),
            (&empty, key, &empty, no_chain),
            (key, key, key, no_chain),
            (&broken_chain, key, &broken_chain, no_chain),
            (chain, &empty, &empty, no_key),
            (chain, chain, chain, no_key),
            (chain, &broken, &broken, no_key),
            (chain, &other.files.private_key, chain, "the key of its first certificate"),
        ];
        for (chain, key, named, words) in cases {
            let files = TlsFiles { certificate_chain: chain.clone(), private_key: key.clone() };
            let said = server_config(&files).expect_err("an unusable pair").to_string();
            assert!(said.contains(&named.display().to_string()), "{said}");
            assert!(said.contains(words), "{said}");
            assert!(!said.contains("c2VjcmV0"), "{said}");
        }
    }

    /// A fresh self-signed pair for `localhost`, in a folder of its own that goes with it.
    pub(crate) struct MadeFiles {
        pub(crate) files: TlsFiles,
        pub(crate) certificate: CertificateDer<'static>,
        folder: PathBuf,
    }

    impl MadeFiles {
        pub(crate) fn new(name: &str) -> Self {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
                .expect("a self-signed certificate");
            let folder =
                std::env::temp_dir().join(format!("tasuki-tls-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder for the test");
            let mut this = Self {
                files: TlsFiles { certificate_chain: PathBuf::new(), private_key: PathBuf::new() },
                certificate: made.cert.der().clone(),
                folder,
            };
            let key = made.signing_key.serialize_pem();
            this.files.certificate_chain = this.write("chain.pem", Some(&made.cert.pem()));
            this.files.private_key = this.write("key.pem", Some(&key));
            this
        }

        fn write(&self, name: &str, text: Option<&str>) -> PathBuf {
            let path = self.folder.join(name);
            if let Some(text) = text {
                std::fs::write(&path, text).expect("a file for the test");
            }
            path
        }
    }

    impl Drop for MadeFiles {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
