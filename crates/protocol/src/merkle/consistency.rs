//! Proofs that a later tree begins with an earlier one: made of all leaves, or of the edge of the
//! old tree and the leaves after it.

use super::{Edge, leaf_hash, node_hash, root_of, split};
use crate::canonical::{Hash, sha256};

/// The proof that the tree of the first `old_size` leaves is a prefix of that of the first
/// `new_size`. `None` unless `old_size` ≤ `new_size` and the leaves exist. It is empty for equal
/// sizes and for an empty old tree, which is a prefix of every tree. Hashes all leaves.
pub fn consistency_proof(leaf_hashes: &[Hash], old_size: u64, new_size: u64) -> Option<Vec<Hash>> {
    let mut leaves = leaf_hashes.get(..usize::try_from(new_size).ok()?)?;
    let mut old_size = usize::try_from(old_size).ok().filter(|size| *size <= leaves.len())?;
    let mut proof = Vec::new();
    if old_size == 0 {
        return Some(proof);
    }
    let mut part = OldPart::WholeTree;
    while old_size < leaves.len() {
        let (left, right) = leaves.split_at(split(leaves.len() as u64) as usize);
        if old_size <= left.len() {
            proof.push(root_of(right));
            leaves = left;
        } else {
            proof.push(root_of(left));
            old_size -= left.len();
            leaves = right;
            part = OldPart::Subtree;
        }
    }
    match part {
        OldPart::WholeTree => {}
        OldPart::Subtree => proof.push(root_of(leaves)),
    }
    proof.reverse();
    Some(proof)
}

/// Makes a consistency proof from the edge of the old tree and the leaves that were added, which
/// come one by one. Its memory does not grow with the trees.
#[derive(Debug, Clone)]
pub struct ConsistencyProver {
    /// The proof, from the leaf up. The subtrees of new leaves stand side by side, in order.
    nodes: Vec<ProofNode>,
    edge: Edge,
    new_size: u64,
}

#[derive(Debug, Clone)]
enum ProofNode {
    /// A subtree of the old tree. Every one that a proof needs is on the old edge.
    Old(Hash),
    New {
        subtree: Edge,
        n_leaves: u64,
    },
}

impl ConsistencyProver {
    /// `None` if the new tree would be the smaller one.
    pub fn new(old: Edge, new_size: u64) -> Option<Self> {
        let mut nodes = Vec::new();
        let (mut n_old, mut n_new) = (old.size, new_size);
        let mut roots = old.roots.iter();
        let mut next = || *roots.next().expect("a proof has at most the roots of the old edge");
        let mut part = OldPart::WholeTree;
        while 0 < n_old && n_old < n_new {
            let n_left = split(n_new);
            if n_old <= n_left {
                nodes.push(ProofNode::New { subtree: Edge::empty(), n_leaves: n_new - n_left });
                n_new = n_left;
            } else {
                nodes.push(ProofNode::Old(next()));
                (n_old, n_new) = (n_old - n_left, n_new - n_left);
                part = OldPart::Subtree;
            }
        }
        match part {
            OldPart::WholeTree => {}
            OldPart::Subtree => nodes.push(ProofNode::Old(next())),
        }
        nodes.reverse();
        (old.size <= new_size).then_some(Self { nodes, edge: old, new_size })
    }

    /// How many leaves it has, those of the old tree included.
    pub fn size(&self) -> u64 {
        self.edge.size
    }

    /// Appends a leaf at the right, until the new size is reached.
    pub fn push(&mut self, leaf: &[u8]) {
        let leaf_hash = leaf_hash(leaf);
        self.edge.push_hash(leaf_hash);
        let unfilled = self.nodes.iter_mut().find_map(|node| match node {
            ProofNode::New { subtree, n_leaves } if subtree.size < *n_leaves => Some(subtree),
            ProofNode::New { .. } | ProofNode::Old(_) => None,
        });
        if let Some(subtree) = unfilled {
            subtree.push_hash(leaf_hash);
        }
    }

    /// The proof and the edge of the new tree, once all its leaves are there.
    pub fn finish(self) -> Option<(Vec<Hash>, Edge)> {
        let root = |node| match node {
            ProofNode::Old(root) => root,
            ProofNode::New { subtree, .. } => subtree.root(),
        };
        let is_complete = self.edge.size == self.new_size;
        is_complete.then(|| (self.nodes.into_iter().map(root).collect(), self.edge))
    }
}

/// Whether the proof shows that the new tree begins with the old one. No proof can show this for
/// two different roots of one size, nor for a tree that became smaller.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Hash,
    new_size: u64,
    new_root: &Hash,
    proof: &[Hash],
) -> bool {
    if old_size == 0 {
        let empty = sha256(&[]);
        return proof.is_empty() && *old_root == empty && (new_size > 0 || *new_root == empty);
    }
    let sizes = Sizes { old: old_size, new: new_size };
    old_size <= new_size
        && roots_above(sizes, OldPart::WholeTree, old_root, proof)
            == Some(Roots { old: *old_root, new: *new_root })
}

/// How the old tree relates to the current subtree.
#[derive(Clone, Copy)]
enum OldPart {
    /// The old tree begins where this subtree does. A verifier that ends up with exactly its leaves
    /// knows their root already, so the proof does not repeat it.
    WholeTree,
    /// Part of the old tree lies to the left of this subtree.
    Subtree,
}

#[derive(Clone, Copy)]
struct Sizes {
    old: u64,
    new: u64,
}

#[derive(PartialEq, Eq)]
struct Roots {
    old: Hash,
    new: Hash,
}

/// The roots of the old and the new tree that the proof implies. Each step takes one hash
/// from the end of the proof, as for an inclusion.
fn roots_above(sizes: Sizes, part: OldPart, old_root: &Hash, proof: &[Hash]) -> Option<Roots> {
    if sizes.old == sizes.new {
        let known = match (part, proof) {
            (OldPart::WholeTree, []) => old_root,
            (OldPart::Subtree, [only]) => only,
            (OldPart::WholeTree | OldPart::Subtree, _) => return None,
        };
        return Some(Roots { old: *known, new: *known });
    }
    let (beside, below) = proof.split_last()?;
    let n_left = split(sizes.new);
    if sizes.old <= n_left {
        let left = roots_above(Sizes { new: n_left, ..sizes }, part, old_root, below)?;
        Some(Roots { old: left.old, new: node_hash(&left.new, beside) })
    } else {
        let sizes = Sizes { old: sizes.old - n_left, new: sizes.new - n_left };
        let right = roots_above(sizes, OldPart::Subtree, old_root, below)?;
        Some(Roots { old: node_hash(beside, &right.old), new: node_hash(beside, &right.new) })
    }
}
