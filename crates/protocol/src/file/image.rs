//! The formats of images that a browser may show within a page. They are told by their first bytes,
//! never by what an uploader says. Formats that can hold programs, such as SVG, are not among them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Image {
    /// The first bytes of a file that [`of`](Self::of) looks at.
    pub const HEAD_BYTES: usize = 12;

    /// The format of a file that begins with these bytes.
    pub fn of(head: &[u8]) -> Option<Image> {
        let is_webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
        match head {
            _ if head.starts_with(b"\x89PNG\r\n\x1a\n") => Some(Image::Png),
            _ if head.starts_with(b"\xff\xd8\xff") => Some(Image::Jpeg),
            _ if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") => Some(Image::Gif),
            _ if is_webp => Some(Image::Webp),
            _ => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Image::Png => "image/png",
            Image::Jpeg => "image/jpeg",
            Image::Gif => "image/gif",
            Image::Webp => "image/webp",
        }
    }
}
