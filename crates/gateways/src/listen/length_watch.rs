//! Finds requests with both `Content-Length` and `Transfer-Encoding`.
//!
//! hyper goes by the chunks, removes the length before a handler can see it, and closes the
//! connection after the answer. A proxy may have gone by the length, so we refuse such a request.
//! The watch follows the bytes that hyper reads, and knows only where heads and bodies end. It
//! keeps the name of one header. It cannot do harm by misreading a head, because hyper still
//! decides what a request is.

/// The longer of the two names.
const NAME_BYTES_MAX: usize = b"transfer-encoding".len();

#[derive(Debug, Default)]
pub(super) struct LengthWatch {
    place: Place,
    /// Heads that have ended.
    n_heads: u64,
    name: [u8; NAME_BYTES_MAX],
    content_length: Option<u64>,
    is_chunked: bool,
}

/// Where the next byte is.
#[derive(Debug, Default, Clone, Copy)]
enum Place {
    /// Before a head, where empty lines do not count.
    #[default]
    BeforeHead,
    /// In the name of a header, after so many bytes of it.
    Name(usize),
    /// In the value of `Content-Length`.
    Length,
    /// In a line of a head, of which the rest does not matter.
    Line,
    /// In a body, before so many bytes of it.
    Body(u64),
    /// In the size of a chunk, which is so far this.
    ChunkSize(u64),
    /// In the line of a chunk of this size, after the size.
    ChunkLine(u64),
    /// In a chunk, before so many bytes of it and of its line end.
    Chunk(u64),
    /// In the lines after the last chunk, after so many bytes of a line.
    Trailer(usize),
    /// After a request with both, which is the last of its connection.
    Over,
}

impl LengthWatch {
    /// Follows bytes that hyper reads. Gives the number of the head that has both headers, counted
    /// from one, when it ends.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Option<u64> {
        while let Some(&byte) = bytes.first() {
            let n_read = match self.place {
                Place::Over => return None,
                Place::Line => line_bytes(bytes),
                Place::Body(n_left) | Place::Chunk(n_left) => bytes_of(n_left, bytes),
                Place::BeforeHead
                | Place::Name(_)
                | Place::Length
                | Place::ChunkSize(_)
                | Place::ChunkLine(_)
                | Place::Trailer(_) => 1,
            };
            self.place = match self.place {
                Place::Over => Place::Over,
                Place::BeforeHead if matches!(byte, b'\r' | b'\n') => Place::BeforeHead,
                Place::BeforeHead => Place::Line,
                Place::Name(n) => self.after_name_byte(byte, n),
                Place::Length => self.after_length_byte(byte),
                Place::Line if bytes[n_read - 1] == b'\n' => Place::Name(0),
                Place::Line => Place::Line,
                Place::Body(n_left) => match n_left - n_read as u64 {
                    0 => Place::BeforeHead,
                    n_left => Place::Body(n_left),
                },
                Place::ChunkSize(size) => after_size_byte(byte, size),
                Place::ChunkLine(size) => after_chunk_line_byte(byte, size),
                Place::Chunk(n_left) => match n_left - n_read as u64 {
                    0 => Place::ChunkSize(0),
                    n_left => Place::Chunk(n_left),
                },
                Place::Trailer(0) if byte == b'\n' => Place::BeforeHead,
                Place::Trailer(_) if byte == b'\n' => Place::Trailer(0),
                Place::Trailer(n) if byte == b'\r' => Place::Trailer(n),
                Place::Trailer(n) => Place::Trailer(n.saturating_add(1)),
            };
            if matches!(self.place, Place::Over) {
                return Some(self.n_heads);
            }
            bytes = &bytes[n_read..];
        }
        None
    }

    fn after_name_byte(&mut self, byte: u8, n: usize) -> Place {
        match byte {
            b'\n' if n == 0 => self.end_head(),
            b'\n' => Place::Name(0),
            b'\r' => Place::Name(n),
            b':' if self.name[..n] == *b"content-length" => {
                self.content_length = Some(0);
                Place::Length
            }
            b':' if self.name[..n] == *b"transfer-encoding" => {
                self.is_chunked = true;
                Place::Line
            }
            // No other name begins in this way, or is this long.
            _ if n == 0 && !matches!(byte, b'c' | b'C' | b't' | b'T') => Place::Line,
            _ if n == NAME_BYTES_MAX => Place::Line,
            _ => {
                self.name[n] = byte.to_ascii_lowercase();
                Place::Name(n + 1)
            }
        }
    }

    /// hyper refuses what is no number.
    fn after_length_byte(&mut self, byte: u8) -> Place {
        if byte == b'\n' {
            return Place::Name(0);
        }
        if byte.is_ascii_digit() {
            let so_far = self.content_length.unwrap_or(0);
            let length = so_far.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            self.content_length = Some(length);
        }
        Place::Length
    }

    fn end_head(&mut self) -> Place {
        self.n_heads += 1;
        match (self.content_length.take(), std::mem::take(&mut self.is_chunked)) {
            (Some(_), true) => Place::Over,
            (None, true) => Place::ChunkSize(0),
            (None | Some(0), false) => Place::BeforeHead,
            (Some(n_bytes), false) => Place::Body(n_bytes),
        }
    }
}

/// How many of these bytes belong to the line that they begin in.
fn line_bytes(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// How many of these bytes belong to something that has so many left.
fn bytes_of(n_left: u64, bytes: &[u8]) -> usize {
    usize::try_from(n_left).unwrap_or(usize::MAX).min(bytes.len())
}

fn after_size_byte(byte: u8, size: u64) -> Place {
    match char::from(byte).to_digit(16) {
        Some(digit) => Place::ChunkSize(size.saturating_mul(16).saturating_add(digit.into())),
        None => after_chunk_line_byte(byte, size),
    }
}

fn after_chunk_line_byte(byte: u8, size: u64) -> Place {
    const LINE_END_BYTES: u64 = b"\r\n".len() as u64;
    match (byte, size) {
        (b'\n', 0) => Place::Trailer(0),
        (b'\n', size) => Place::Chunk(size.saturating_add(LINE_END_BYTES)),
        _ => Place::ChunkLine(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn the_head_with_both_is_found_wherever_it_is() {
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
        let counted = "POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n";
        for (bytes, expected) in [
            (BOTH.to_owned(), Some(1)),
            (BOTH.replace("\r\n", "\n"), Some(1)),
            (BOTH.to_uppercase(), Some(1)),
            (BOTH.replace("Content-Length: 3", "Content-Length:x"), Some(1)),
            (BOTH.replace("POST", "\r\n\r\nPOST"), Some(1)),
            (
                "A / HTTP/1.1\r\nTransfer-Encoding:chunked\r\nContent-Length:3\r\n\r\n".into(),
                Some(1),
            ),
            (format!("GET / HTTP/1.1\r\n\r\n{BOTH}"), Some(2)),
            (format!("{counted}hello{BOTH}"), Some(2)),
            (format!("{chunked}3\r\nabc\r\n0\r\n\r\n{BOTH}"), Some(2)),
            (format!("{chunked}1A;x=y\r\n{}\r\n0\r\nT: u\r\n\r\n{BOTH}", "\n".repeat(26)), Some(2)),
            // What stands in bodies, values, targets and longer names is no header.
            (format!("{chunked}{:x}\r\n{BOTH}\r\n0\r\n\r\n", BOTH.len()), None),
            (BOTH.replace("Content-Length", "X-Content-Length"), None),
            (BOTH.replace("Content-Length", "Content-Lengths"), None),
            (BOTH.replace("Content-Length", "Transfer-Encodings"), None),
            (BOTH.replace("Content-Length: 3", "X: content-length: 3"), None),
            (format!("{chunked}0\r\nContent-Length: 3\r\n\r\n"), None),
        ] {
            let whole = LengthWatch::default().read(bytes.as_bytes());
            assert_eq!(whole, expected, "{bytes}");
            let mut watch = LengthWatch::default();
            let found = bytes.as_bytes().iter().find_map(|byte| watch.read(&[*byte]));
            assert_eq!(found, expected, "byte by byte: {bytes}");
        }
    }

    #[test]
    fn nothing_is_said_about_what_follows() {
        let mut watch = LengthWatch::default();
        assert_eq!(watch.read(format!("{BOTH}{BOTH}").as_bytes()), Some(1));
        assert_eq!(watch.read(BOTH.as_bytes()), None);
    }
}
