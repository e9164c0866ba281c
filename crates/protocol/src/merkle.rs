//! The Merkle tree of RFC 6962 over the ledger, without keeping the tree.
//!
//! A tree of n leaves splits at the largest power of two below n; leaves and nodes are hashed with
//! different first bytes, so neither can be passed off as the other. A proof shows the holder of a
//! root that an entry is in the ledger (inclusion), or that a later ledger begins with the earlier
//! one (consistency).

mod consistency;

use crate::canonical::{Hash, sha256};

pub use consistency::{ConsistencyProver, consistency_proof, verify_consistency};

/// The right edge of the tree: just enough to add leaves and to compute the root.
///
/// Invariant: there is one root for each one bit of `size`, from the highest bit to the lowest.
/// Each is the root of the perfect subtree over that many leaves. The subtrees stand side by side
/// and together cover all leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    roots: Vec<Hash>,
}

impl Edge {
    pub fn empty() -> Edge {
        Edge { size: 0, roots: Vec::new() }
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf at the right.
    pub fn push(&mut self, leaf: &[u8]) {
        self.push_hash(leaf_hash(leaf));
    }

    /// Appends a leaf by its [`leaf_hash`].
    pub fn push_hash(&mut self, leaf_hash: Hash) {
        // As in binary addition: each trailing one bit is a subtree as large as the one in hand.
        let mut root = leaf_hash;
        for _ in 0..self.size.trailing_ones() {
            let left = self.roots.pop().expect("there is one root for each one bit of the size");
            root = node_hash(&left, &root);
        }
        self.roots.push(root);
        self.size += 1;
    }

    /// The root of the whole tree; that of the empty tree is the hash of no bytes.
    pub fn root(&self) -> Hash {
        let joined =
            self.roots.iter().rev().copied().reduce(|right, left| node_hash(&left, &right));
        joined.unwrap_or_else(|| sha256(&[]))
    }

    /// The roots in order, to be stored beside the size.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.roots.concat()
    }

    /// Reads what [`Edge::to_bytes`] wrote; `None` if the length does not fit the size. Wrong
    /// hashes show only when the root is compared with a signed one.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Option<Edge> {
        let (roots, rest) = bytes.as_chunks::<32>();
        let fits = rest.is_empty() && roots.len() == size.count_ones() as usize;
        fits.then(|| Edge { size, roots: roots.to_vec() })
    }
}

/// The hash of an entry as a leaf of the tree.
pub fn leaf_hash(leaf: &[u8]) -> Hash {
    sha256(&[&[0x00], leaf])
}

/// The proof that leaf `index` is in the tree of the first `size` leaves: the roots of the subtrees
/// beside its path, from the leaf up. `None` if there is no such leaf or tree. Hashes all leaves.
pub fn inclusion_proof(leaf_hashes: &[Hash], index: u64, size: u64) -> Option<Vec<Hash>> {
    let mut leaves = leaf_hashes.get(..usize::try_from(size).ok()?)?;
    let mut index = usize::try_from(index).ok().filter(|index| *index < leaves.len())?;
    let mut proof = Vec::new();
    while leaves.len() > 1 {
        let (left, right) = leaves.split_at(split(leaves.len() as u64) as usize);
        if index < left.len() {
            proof.push(root_of(right));
            leaves = left;
        } else {
            proof.push(root_of(left));
            index -= left.len();
            leaves = right;
        }
    }
    proof.reverse();
    Some(proof)
}

/// Whether the proof shows that the tree with this size and root has this leaf at this index.
pub fn verify_inclusion(
    leaf_hash: &Hash,
    index: u64,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> bool {
    index < size && root_above(*leaf_hash, index, size, proof) == Some(*root)
}

/// The root of the tree of `size` leaves that the proof implies. Each step takes one hash from the
/// end of the proof and at least halves the power of two above `size`, so it ends within 64.
fn root_above(leaf_hash: Hash, index: u64, size: u64, proof: &[Hash]) -> Option<Hash> {
    if size == 1 {
        return proof.is_empty().then_some(leaf_hash);
    }
    let (beside, below) = proof.split_last()?;
    let n_left = split(size);
    if index < n_left {
        Some(node_hash(&root_above(leaf_hash, index, n_left, below)?, beside))
    } else {
        Some(node_hash(beside, &root_above(leaf_hash, index - n_left, size - n_left, below)?))
    }
}

/// How many leaves go to the left: the largest power of two below `size`.
fn split(size: u64) -> u64 {
    assert!(size > 1, "only a tree of two or more leaves has a left and a right side");
    1 << (size - 1).ilog2()
}

fn root_of(leaf_hashes: &[Hash]) -> Hash {
    let mut edge = Edge::empty();
    for leaf_hash in leaf_hashes {
        edge.push_hash(*leaf_hash);
    }
    edge.root()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256(&[&[0x01], left, right])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::{hex, parse_hex32};

    /// The reference tree of Certificate Transparency: its leaves, and its root at each size.
    const REFERENCE: [(&[u8], &str); 8] = [
        (b"", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (b"\x00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (b"\x10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (b" !", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
        (b"01", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
        (b"@ABC", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
        (b"PQRSTUVW", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (b"`abcdefghijklmno", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ];

    const EMPTY_ROOT: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn the_roots_of_the_reference_tree() {
        let mut edge = Edge::empty();
        assert_eq!(hex(&edge.root()), EMPTY_ROOT);
        for (leaf, root) in REFERENCE {
            edge.push(leaf);
            assert_eq!(hex(&edge.root()), root, "size {}", edge.size());
        }
    }

    #[test]
    fn the_inclusion_proofs_of_the_reference_tree() {
        check_inclusion(0, 1, &[]);
        check_inclusion(0, 8, &["96a296d2", "5f083f0a", "6b47aaf2"]);
        check_inclusion(5, 8, &["bc1a0643", "ca854ea1", "d37ee418"]);
        check_inclusion(2, 3, &["fac54203"]);
        check_inclusion(1, 5, &["6e340b9c", "5f083f0a", "bc1a0643"]);
        assert_eq!(inclusion_proof(&reference(), 3, 3), None);
        assert_eq!(inclusion_proof(&reference(), 0, 9), None);
        assert_eq!(inclusion_proof(&reference(), u64::MAX, u64::MAX), None);
    }

    #[test]
    fn the_consistency_proofs_of_the_reference_tree() {
        check_consistency(0, 0, &[]);
        check_consistency(0, 5, &[]);
        check_consistency(1, 1, &[]);
        check_consistency(1, 8, &["96a296d2", "5f083f0a", "6b47aaf2"]);
        check_consistency(6, 8, &["0ebc5d34", "ca854ea1", "d37ee418"]);
        check_consistency(2, 5, &["5f083f0a", "bc1a0643"]);
        assert_eq!(consistency_proof(&reference(), 4, 3), None);
        assert_eq!(consistency_proof(&reference(), 4, 9), None);
    }

    #[test]
    fn trees_that_shrink_or_split_are_never_consistent() {
        let (three, four) = (root_at(3), root_at(4));
        let other = leaf_hash(b"other");
        assert!(!verify_consistency(4, &four, 3, &three, &[]));
        assert!(!verify_consistency(4, &four, 4, &other, &[]));
        assert!(!verify_consistency(0, &other, 4, &four, &[]));
        assert!(!verify_consistency(0, &root_at(0), 0, &other, &[]));
        assert!(!verify_consistency(0, &root_at(0), 4, &four, &[other]));
    }

    #[test]
    fn sizes_out_of_this_world_are_answered_too() {
        let hash = leaf_hash(b"");
        for n in 0..70 {
            let proof = vec![hash; n];
            assert!(!verify_inclusion(&hash, u64::MAX - 1, u64::MAX, &hash, &proof));
            assert!(!verify_inclusion(&hash, u64::MAX, u64::MAX, &hash, &proof));
            assert!(!verify_consistency(u64::MAX - 1, &hash, u64::MAX, &hash, &proof));
            assert!(!verify_consistency(1, &hash, u64::MAX, &hash, &proof));
        }
    }

    #[test]
    fn an_edge_is_read_back_only_at_its_length() {
        let edge = edge_of(&reference()[..7]);
        let bytes = edge.to_bytes();
        assert_eq!(Edge::from_bytes(7, &bytes), Some(edge));
        assert_eq!(Edge::from_bytes(8, &bytes), None);
        assert_eq!(Edge::from_bytes(7, &bytes[1..]), None);
        assert_eq!(Edge::from_bytes(3, &bytes[..65]), None);
        assert_eq!(Edge::from_bytes(0, &[]), Some(Edge::empty()));
    }

    #[test]
    fn every_proof_in_small_trees_verifies() {
        let leaves: Vec<Hash> = (0..33_u8).map(|n| leaf_hash(&[n])).collect();
        for new in 0..=33 {
            let new_root = naive_root(&leaves[..new as usize]);
            for old in 0..=new {
                let proof = consistency_proof(&leaves, old, new).unwrap();
                let old_root = naive_root(&leaves[..old as usize]);
                assert!(verify_consistency(old, &old_root, new, &new_root, &proof), "{old} {new}");
                let old_edge = edge_of(&leaves[..old as usize]);
                let mut prover = ConsistencyProver::new(old_edge, new).unwrap();
                (old..new).for_each(|leaf| prover.push(&[leaf as u8]));
                let expected = (proof, edge_of(&leaves[..new as usize]));
                assert_eq!(prover.finish(), Some(expected), "{old} {new}");
            }
            for index in 0..new {
                let proof = inclusion_proof(&leaves, index, new).unwrap();
                let leaf = leaves[index as usize];
                assert!(verify_inclusion(&leaf, index, new, &new_root, &proof), "{index} {new}");
            }
        }
    }

    #[test]
    fn a_prover_needs_every_leaf_and_no_smaller_tree() {
        let old = edge_of(&reference()[..3]);
        assert!(ConsistencyProver::new(old.clone(), 2).is_none());
        let mut prover = ConsistencyProver::new(old, 5).unwrap();
        prover.push(b"one");
        assert_eq!((prover.size(), prover.clone().finish()), (4, None));
        (0..2).for_each(|_| prover.push(b"more"));
        assert_eq!(prover.finish(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn an_edge_has_the_root_of_the_whole_tree(
            leaves in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..8), 0..200),
            stop in any::<prop::sample::Index>(),
        ) {
            let stop = stop.index(leaves.len() + 1);
            let mut edge = Edge::empty();
            leaves[..stop].iter().for_each(|leaf| edge.push(leaf));
            let mut edge = Edge::from_bytes(edge.size(), &edge.to_bytes()).unwrap();
            leaves[stop..].iter().for_each(|leaf| edge.push(leaf));

            let hashes: Vec<Hash> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
            prop_assert_eq!(edge.root(), naive_root(&hashes));
            prop_assert_eq!(edge.size(), leaves.len() as u64);
        }

        #[test]
        fn altered_proofs_fail(
            (new, old, index) in (2..100_u64).prop_flat_map(|n| (Just(n), 1..n, 0..n)),
            change in change(),
        ) {
            let leaves: Vec<Hash> = (0..new).map(|n| leaf_hash(&n.to_be_bytes())).collect();
            let root = naive_root(&leaves);

            let proof = consistency_proof(&leaves, old, new).unwrap();
            let old_root = naive_root(&leaves[..old as usize]);
            prop_assert!(verify_consistency(old, &old_root, new, &root, &proof));
            prop_assert!(!verify_consistency(old, &old_root, new, &root, &change.apply(&proof)));
            prop_assert!(!verify_consistency(old, &root, new, &root, &proof));
            prop_assert!(!verify_consistency(old, &old_root, new, &old_root, &proof));

            let proof = inclusion_proof(&leaves, index, new).unwrap();
            let leaf = leaves[index as usize];
            let other_index = (index + 1) % new;
            prop_assert!(verify_inclusion(&leaf, index, new, &root, &proof));
            prop_assert!(!verify_inclusion(&leaf, index, new, &root, &change.apply(&proof)));
            prop_assert!(!verify_inclusion(&leaf, other_index, new, &root, &proof));
            prop_assert!(!verify_inclusion(&root, index, new, &root, &proof));
        }

        #[test]
        fn any_bytes_and_sizes_are_answered(
            size in any::<u64>(),
            index in any::<u64>(),
            proof in prop::collection::vec(any::<Hash>(), 0..70),
        ) {
            let hash = leaf_hash(b"");
            prop_assert!(!verify_inclusion(&hash, index, size, &hash, &proof) || size == 1);
            prop_assert!(!verify_consistency(index, &hash, size, &hash, &proof) || index == size);
            if let Some(edge) = Edge::from_bytes(size, &proof.concat()) {
                prop_assert_eq!(edge.to_bytes(), proof.concat());
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Change {
        FlipBit { byte: prop::sample::Index, bit: u32 },
        Remove { at: prop::sample::Index },
        Append { hash: Hash },
    }

    impl Change {
        /// The proof with the change applied; a proof too short for it gets one more hash.
        fn apply(&self, proof: &[Hash]) -> Vec<Hash> {
            let mut proof = proof.to_vec();
            match self {
                Change::FlipBit { byte, bit } if !proof.is_empty() => {
                    let byte = byte.index(proof.len() * 32);
                    proof[byte / 32][byte % 32] ^= 1 << bit;
                }
                Change::Remove { at } if !proof.is_empty() => {
                    proof.remove(at.index(proof.len()));
                }
                Change::Append { hash } => proof.push(*hash),
                Change::FlipBit { .. } | Change::Remove { .. } => proof.push([0; 32]),
            }
            proof
        }
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (any::<prop::sample::Index>(), 0..8_u32)
                .prop_map(|(byte, bit)| Change::FlipBit { byte, bit }),
            any::<prop::sample::Index>().prop_map(|at| Change::Remove { at }),
            any::<Hash>().prop_map(|hash| Change::Append { hash }),
        ]
    }

    fn check_inclusion(index: u64, size: u64, expected: &[&str]) {
        let proof = inclusion_proof(&reference(), index, size).unwrap();
        assert_eq!(beginnings(&proof), expected);
        let leaf = reference()[index as usize];
        assert!(verify_inclusion(&leaf, index, size, &root_at(size), &proof));
    }

    fn check_consistency(old: u64, new: u64, expected: &[&str]) {
        let proof = consistency_proof(&reference(), old, new).unwrap();
        assert_eq!(beginnings(&proof), expected);
        assert!(verify_consistency(old, &root_at(old), new, &root_at(new), &proof));
    }

    fn reference() -> Vec<Hash> {
        REFERENCE.iter().map(|(leaf, _)| leaf_hash(leaf)).collect()
    }

    fn root_at(size: u64) -> Hash {
        let text = if size == 0 { EMPTY_ROOT } else { REFERENCE[size as usize - 1].1 };
        parse_hex32(text).unwrap()
    }

    fn beginnings(proof: &[Hash]) -> Vec<String> {
        proof.iter().map(|hash| hex(&hash[..4])).collect()
    }

    fn edge_of(leaf_hashes: &[Hash]) -> Edge {
        let mut edge = Edge::empty();
        leaf_hashes.iter().for_each(|hash| edge.push_hash(*hash));
        edge
    }

    /// The definition in RFC 6962, word for word.
    fn naive_root(leaf_hashes: &[Hash]) -> Hash {
        match leaf_hashes {
            [] => sha256(&[]),
            [only] => *only,
            more => {
                let mut k = 1;
                while k * 2 < more.len() {
                    k *= 2;
                }
                sha256(&[&[1], &naive_root(&more[..k]), &naive_root(&more[k..])])
            }
        }
    }
}
