//! Splitting of a conversation tree into branches. Every regenerated answer and every edited
//! question starts a branch.
//!
//! The branch shown last is the conversation. Every other branch contains only the messages that
//! follow its fork. Nothing recurses, since a tree may be as deep as a conversation is long.

use std::collections::{HashMap, HashSet, VecDeque};

use vademecum_model::MessageDraft;

/// A node of the tree.
#[derive(Debug)]
pub(super) struct MessageNode {
    /// Identifier within the conversation.
    pub id: String,
    /// Identifier of the node it follows.
    pub parent: Option<String>,
    /// Creation time in any unit; of several children, the newest was shown last.
    pub time: Option<f64>,
    /// The message, unless the node is hidden.
    pub message: Option<MessageDraft>,
}

/// A chain of messages.
#[derive(Debug)]
pub(super) struct Branch {
    /// Fork: index of an earlier branch, and origin of the last message that both share.
    pub fork: Option<(usize, Option<String>)>,
    /// Messages, oldest first; never empty.
    pub messages: Vec<MessageDraft>,
}

/// The branches of a tree. The first is the one shown last.
#[derive(Debug, Default)]
pub(super) struct ConversationBranches {
    /// Branches; each follows the one it forks from.
    pub branches: Vec<Branch>,
    /// Number of messages that no root leads to, because their parents form a cycle.
    pub unreachable_messages: usize,
}

/// Splits a tree into branches. `current` is the node the user saw last.
pub(super) fn split_branches(
    nodes: Vec<MessageNode>,
    current: Option<&str>,
) -> ConversationBranches {
    let mut tree = MessageTree::new(nodes);
    let main = tree.main_path(current);
    let mut found = ConversationBranches::default();
    let mut starts = VecDeque::new();
    let beginning = Some((0, None));
    let sides = tree.extract_branch(&main, beginning.clone(), &mut found.branches);
    // Other roots start branches of their own.
    let roots = (0..tree.nodes.len()).filter(|node| tree.parents[*node].is_none());
    starts.extend(roots.map(|root| (root, beginning.clone())));
    starts.extend(sides);
    while let Some((start, leaves)) = starts.pop_front() {
        let path = tree.newest_path_from(start);
        let sides = tree.extract_branch(&path, leaves, &mut found.branches);
        starts.extend(sides);
    }
    found.unreachable_messages = tree.nodes.iter().filter(|node| node.message.is_some()).count();
    found
}

type BranchStart = (usize, Option<(usize, Option<String>)>);

struct MessageTree {
    nodes: Vec<MessageNode>,
    /// Parent of each node.
    parents: Vec<Option<usize>>,
    /// Children of each node, oldest first.
    children: Vec<Vec<usize>>,
    taken: Vec<bool>,
}

impl MessageTree {
    fn new(nodes: Vec<MessageNode>) -> Self {
        // If two nodes have the same identifier, children belong to the first.
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            positions.entry(&node.id).or_insert(place);
        }
        let parent_of = |node: &MessageNode| positions.get(node.parent.as_deref()?).copied();
        let parents: Vec<_> = nodes.iter().map(parent_of).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(siblings) = parent.and_then(|parent| children.get_mut(parent)) {
                siblings.push(child);
            }
        }
        for siblings in &mut children {
            siblings.sort_by(|one, other| {
                node_time(&nodes[*one]).total_cmp(&node_time(&nodes[*other]))
            });
        }
        let taken = vec![false; nodes.len()];
        Self { nodes, parents, children, taken }
    }

    /// Returns the path from the root to `current`; if that shows no message, the path to the
    /// newest leaf, preferring one with a message.
    fn main_path(&self, current: Option<&str>) -> Vec<usize> {
        let named = current.and_then(|id| self.nodes.iter().position(|node| node.id == id));
        let path = named.map(|node| self.path_from_root(node)).unwrap_or_default();
        if path.iter().any(|node| self.nodes[*node].message.is_some()) {
            return path;
        }
        let leaves = (0..self.nodes.len()).filter(|node| self.children[*node].is_empty());
        let newest = leaves.max_by(|one, other| {
            let (one, other) = (&self.nodes[*one], &self.nodes[*other]);
            let order = one.message.is_some().cmp(&other.message.is_some());
            order.then(node_time(one).total_cmp(&node_time(other)))
        });
        newest.map(|node| self.path_from_root(node)).unwrap_or_default()
    }

    /// Returns the nodes from the root to this one. Stops at a repeated node, so cycles end.
    fn path_from_root(&self, node: usize) -> Vec<usize> {
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| seen.insert(*node)) {
            path.push(node);
            next = self.parents[node];
        }
        path.reverse();
        path
    }

    /// Returns the nodes from this one downwards, following the newest child.
    fn newest_path_from(&self, node: usize) -> Vec<usize> {
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !self.taken[*node] && seen.insert(*node)) {
            path.push(node);
            next = self.children[node].iter().rev().find(|child| !self.taken[**child]).copied();
        }
        path
    }

    /// Adds a branch with the messages of a path, unless there are none, and returns the nodes at
    /// which further branches start. A side branch before the first message inherits the fork of
    /// the path.
    fn extract_branch(
        &mut self,
        path: &[usize],
        leaves: Option<(usize, Option<String>)>,
        branches: &mut Vec<Branch>,
    ) -> Vec<BranchStart> {
        let number = branches.len();
        let mut messages: Vec<MessageDraft> = Vec::new();
        let mut sides = Vec::new();
        for node in path {
            self.taken[*node] = true;
            messages.extend(self.nodes[*node].message.take());
            let last = messages.last().map(|message| (number, Some(message.origin.clone())));
            let leaving = last.or_else(|| leaves.clone());
            sides.push((*node, leaving));
        }
        if !messages.is_empty() {
            let leaves = leaves.filter(|_| number > 0);
            branches.push(Branch { fork: leaves, messages });
        }
        let mut starts = Vec::new();
        for (node, leaving) in sides {
            let others = self.children[node].iter().filter(|child| !self.taken[**child]);
            starts.extend(others.map(|child| (*child, leaving.clone())));
        }
        starts
    }
}

fn node_time(node: &MessageNode) -> f64 {
    node.time.unwrap_or(f64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits nodes given as `id<parent`; upper-case identifiers have a message.
    fn split_nodes(nodes: &str, current: Option<&str>) -> (Vec<String>, usize) {
        let nodes = nodes.split(' ').zip(0..).map(|(node, time)| {
            let (id, parent) = node.split_once('<').unwrap_or((node, ""));
            let shown = id.chars().all(|letter| letter.is_ascii_uppercase());
            MessageNode {
                id: id.to_owned(),
                parent: Some(parent.to_owned()).filter(|parent| !parent.is_empty()),
                time: Some(f64::from(time)),
                message: shown
                    .then(|| MessageDraft { origin: id.to_owned(), ..MessageDraft::default() }),
            }
        });
        let found = split_branches(nodes.collect(), current);
        let shown = found.branches.iter().map(|branch| {
            let origins: Vec<_> = branch.messages.iter().map(|it| it.origin.as_str()).collect();
            let leaves = branch.fork.as_ref().map(|(number, after)| {
                format!("{number}{}:", after.as_deref().unwrap_or_default())
            });
            format!("{}{}", leaves.unwrap_or_default(), origins.join(""))
        });
        (shown.collect(), found.unreachable_messages)
    }

    #[test]
    fn last_shown_branch_is_the_conversation() {
        let tree = "r A<r B<A C<B D<A E<D F<D G<B";
        let (found, lost) = split_nodes(tree, Some("C"));
        assert_eq!((found, lost), (["ABC", "0A:DF", "0B:G", "1D:E"].map(str::to_owned).into(), 0));
        assert_eq!(split_nodes(tree, None).0[0], "ABG");
        assert_eq!(split_nodes(tree, Some("gone")).0[0], "ABG");
    }

    #[test]
    fn hidden_nodes_are_skipped() {
        assert_eq!(split_nodes("r A<r h<A B<h C<h", Some("B")).0, ["AB", "0A:C"]);
        assert_eq!(split_nodes("A h<A i<h B<i C<h D<A", Some("D")).0, ["AD", "0A:C", "0A:B"]);
        assert_eq!(split_nodes("r A<r B<r", Some("A")).0, ["A", "0:B"], "it begins differently");
        assert_eq!(split_nodes("A B<x", Some("A")).0, ["A", "0:B"]);
        assert_eq!(split_nodes("r A<r", Some("r")).0, ["A"]);
        assert_eq!(split_nodes("A B<A C<B", Some("A")).0, ["A", "0A:BC"], "it went on elsewhere");
    }

    #[test]
    fn cycles_terminate() {
        assert_eq!(split_nodes("A<B B<A", Some("B")), (vec!["AB".to_owned()], 0));
        assert_eq!(split_nodes("A<B B<A", None), (Vec::new(), 2));
        assert_eq!(split_nodes("A B<B C<D D<C", Some("A")), (vec!["A".to_owned()], 3));
        assert_eq!(split_nodes("A A<A", Some("A")), (vec!["A".to_owned(), "0A:A".to_owned()], 0));
    }

    #[test]
    fn deep_and_wide_trees_are_split() {
        let node = |id: usize, parent: Option<usize>| MessageNode {
            id: id.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            time: None,
            message: Some(MessageDraft { origin: id.to_string(), ..MessageDraft::default() }),
        };
        let deep = (0..100_000).map(|id: usize| node(id, id.checked_sub(1)));
        assert_eq!(split_branches(deep.collect(), None).branches[0].messages.len(), 100_000);
        let wide = (0..100_000).map(|id: usize| node(id, (id > 0).then_some(0)));
        assert_eq!(split_branches(wide.collect(), Some("0")).branches.len(), 100_000);
    }
}
