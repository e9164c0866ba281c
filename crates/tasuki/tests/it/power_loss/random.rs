//! A small random number generator (splitmix64), so that a seed means the same image for ever.

#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`. The bias of the modulo does not matter here.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "there is no number below zero");
        (self.draw() % limit as u64) as usize
    }

    pub fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
