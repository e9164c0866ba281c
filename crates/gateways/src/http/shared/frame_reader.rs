//! Reads along while a WebSocket receives: how much has come of a message that is not finished. The
//! library shows whole messages only, and a message that never ends holds its memory.

/// Two bytes, a length of eight, and a mask of four.
const HEAD_BYTES_MAX: usize = 14;

/// Reads the heads of frames (RFC 6455, 5.2) and skips what is in them.
#[derive(Debug, Default)]
pub struct FrameReader {
    head: [u8; HEAD_BYTES_MAX],
    n_head: usize,
    /// What is to come of the frame.
    n_left: u64,
    is_control: bool,
    is_last: bool,
    /// The bytes of a message whose last frame is not complete.
    unfinished: Option<u64>,
}

impl FrameReader {
    /// How much has come of a message that is not finished.
    pub fn unfinished(&self) -> Option<u64> {
        self.unfinished
    }

    /// Takes the next bytes of the peer.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.n_left == 0 {
                bytes = rest;
                self.read_head(*first);
                continue;
            }
            let n_here = self.n_left.min(bytes.len() as u64);
            self.n_left -= n_here;
            if !self.is_control {
                *self.unfinished.get_or_insert(0) += n_here;
            }
            bytes = &bytes[usize::try_from(n_here).unwrap_or(bytes.len())..];
            self.end_if_complete();
        }
    }

    fn read_head(&mut self, byte: u8) {
        self.head[self.n_head] = byte;
        self.n_head += 1;
        let Some(n_left) = self.payload_length() else { return };
        self.n_head = 0;
        self.n_left = n_left;
        let [first, ..] = self.head;
        self.is_control = first & 0x08 != 0;
        if !self.is_control {
            self.is_last = first & 0x80 != 0;
            self.unfinished.get_or_insert(0);
        }
        self.end_if_complete();
    }

    /// The length of what follows the head, once the head is complete.
    fn payload_length(&self) -> Option<u64> {
        if self.n_head < 2 {
            return None;
        }
        let n_mask = if self.head[1] & 0x80 != 0 { 4 } else { 0 };
        let length = match self.head[1] & 0x7f {
            126 => 2..4,
            127 => 2..10,
            _ => 1..2,
        };
        if self.n_head < length.end + n_mask {
            return None;
        }
        let is_short = length.start == 1;
        let number = self.head[length].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Some(if is_short { number & 0x7f } else { number })
    }

    fn end_if_complete(&mut self) {
        if self.n_left == 0 && self.is_last && !self.is_control {
            self.unfinished = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of a client, with a mask.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(0x80 | u8::try_from(length).expect("short")),
            126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(length).expect("short").to_be_bytes());
            }
            _ => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend([7; 4]);
        frame.resize(frame.len() + length, b'x');
        frame
    }

    const TEXT: u8 = 0x01;
    const MORE: u8 = 0x00;
    const LAST: u8 = 0x80;
    const PING: u8 = 0x89;

    #[test]
    fn only_the_last_frame_ends_a_message() {
        for n_bytes in [1, 3, 4_096, 1 << 20] {
            let mut reader = FrameReader::default();
            let mut after = |first, length, kept: usize| {
                let frame = frame(first, length);
                frame[..frame.len() - kept].chunks(n_bytes).for_each(|part| reader.read(part));
                let unfinished = reader.unfinished();
                frame[frame.len() - kept..].chunks(n_bytes).for_each(|part| reader.read(part));
                (unfinished, reader.unfinished())
            };
            assert_eq!(after(TEXT | LAST, 5, 0), (None, None));
            assert_eq!(after(TEXT | LAST, 300, 1), (Some(299), None));
            assert_eq!(after(TEXT | LAST, 0, 0), (None, None));
            assert_eq!(after(TEXT, 70_000, 0).1, Some(70_000));
            assert_eq!(after(PING, 5, 2), (Some(70_000), Some(70_000)), "a ping is none of it");
            assert_eq!(after(MORE, 125, 0).1, Some(70_125));
            assert_eq!(after(MORE, 0, 0).1, Some(70_125));
            assert_eq!(after(MORE | LAST, 126, 6), (Some(70_245), None));
            assert_eq!(after(PING, 0, 0), (None, None));
        }
    }

    #[test]
    fn any_bytes_are_read_alike_in_any_parts() {
        for seed in 1..=200_u64 {
            let mut state = seed;
            let mut draw = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()
            };
            let bytes: Vec<u8> = (0..512).flat_map(|_| draw()).collect();
            let (mut whole, mut parted) = (FrameReader::default(), FrameReader::default());
            whole.read(&bytes);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (part, more) = rest.split_at(rest.len().min(usize::from(draw()[0]) + 1));
                parted.read(part);
                rest = more;
            }
            assert_eq!(whole.unfinished(), parted.unfinished(), "seed {seed}");
        }
    }
}
