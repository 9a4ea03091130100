//! A conversation as a tree: every answer that was asked for again, and every
//! question that was changed, is a branch.
//!
//! The branch that was seen last is the conversation; what else hangs on it is
//! taken off as branches of their own, each with what the others have not.
//! Nothing here recurses: a tree may be as deep as a conversation is long.

use std::collections::{HashMap, HashSet, VecDeque};

use vademecum_kit::model::MessageDraft;

/// A place in the tree.
#[derive(Debug)]
pub(super) struct Node {
    /// What it is known by.
    pub id: String,
    /// What it follows.
    pub parent: Option<String>,
    /// When it came to be, in any unit: of siblings, the newest was seen last.
    pub time: Option<f64>,
    /// What is said there, if it is to be seen.
    pub message: Option<MessageDraft>,
}

/// Messages that follow one another.
#[derive(Debug)]
pub(super) struct Branch {
    /// What it leaves: one of the branches before it, by number, and the last
    /// message both have, by its origin.
    pub leaves: Option<(usize, Option<String>)>,
    /// Never none.
    pub messages: Vec<MessageDraft>,
}

/// The branches of a tree: first the one that was seen last.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// Each after the one that it leaves.
    pub branches: Vec<Branch>,
    /// How many messages hang on nothing but one another.
    pub lost: usize,
}

/// Takes a tree apart. `current` is where the user was last.
pub(super) fn branches(nodes: Vec<Node>, current: Option<&str>) -> Branches {
    let mut tree = Tree::new(nodes);
    let main = tree.main(current);
    let mut found = Branches::default();
    let mut starts = VecDeque::new();
    let beginning = Some((0, None));
    let sides = tree.take(&main, beginning.clone(), &mut found.branches);
    // What does not begin as the main branch does begins elsewhere.
    let roots = (0..tree.nodes.len()).filter(|node| tree.parents[*node].is_none());
    starts.extend(roots.map(|root| (root, beginning.clone())));
    starts.extend(sides);
    while let Some((start, leaves)) = starts.pop_front() {
        let path = tree.down_from(start);
        let sides = tree.take(&path, leaves, &mut found.branches);
        starts.extend(sides);
    }
    found.lost = tree.nodes.iter().filter(|node| node.message.is_some()).count();
    found
}

type Start = (usize, Option<(usize, Option<String>)>);

struct Tree {
    nodes: Vec<Node>,
    /// What each follows.
    parents: Vec<Option<usize>>,
    /// What follows each, oldest first.
    children: Vec<Vec<usize>>,
    taken: Vec<bool>,
}

impl Tree {
    fn new(nodes: Vec<Node>) -> Self {
        // Of two that have one name, what follows it follows the first.
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            places.entry(&node.id).or_insert(place);
        }
        let parent_of = |node: &Node| places.get(node.parent.as_deref()?).copied();
        let parents: Vec<_> = nodes.iter().map(parent_of).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(siblings) = parent.and_then(|parent| children.get_mut(parent)) {
                siblings.push(child);
            }
        }
        for siblings in &mut children {
            siblings.sort_by(|one, other| time(&nodes[*one]).total_cmp(&time(&nodes[*other])));
        }
        let taken = vec![false; nodes.len()];
        Self { nodes, parents, children, taken }
    }

    /// The way to where the user was last, from the root; without such a
    /// place, to the newest message.
    fn main(&self, current: Option<&str>) -> Vec<usize> {
        let named = current.and_then(|id| self.nodes.iter().position(|node| node.id == id));
        let path = named.map(|node| self.up_from(node)).unwrap_or_default();
        if path.iter().any(|node| self.nodes[*node].message.is_some()) {
            return path;
        }
        let leaves = (0..self.nodes.len()).filter(|node| self.children[*node].is_empty());
        let newest = leaves.max_by(|one, other| {
            let (one, other) = (&self.nodes[*one], &self.nodes[*other]);
            let order = one.message.is_some().cmp(&other.message.is_some());
            order.then(time(one).total_cmp(&time(other)))
        });
        newest.map(|node| self.up_from(node)).unwrap_or_default()
    }

    /// The nodes from the root down to this one. A parent that was seen before
    /// closes a circle.
    fn up_from(&self, node: usize) -> Vec<usize> {
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| seen.insert(*node)) {
            path.push(node);
            next = self.parents[node];
        }
        path.reverse();
        path
    }

    /// The nodes from this one on, always to the newest child.
    fn down_from(&self, node: usize) -> Vec<usize> {
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !self.taken[*node] && seen.insert(*node)) {
            path.push(node);
            next = self.children[node].iter().rev().find(|child| !self.taken[**child]).copied();
        }
        path
    }

    /// Makes a branch of a path, unless nothing on it is to be seen, and says
    /// where others leave it. What leaves it before its first message leaves
    /// what it leaves itself.
    fn take(
        &mut self,
        path: &[usize],
        leaves: Option<(usize, Option<String>)>,
        branches: &mut Vec<Branch>,
    ) -> Vec<Start> {
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
            branches.push(Branch { leaves, messages });
        }
        let mut starts = Vec::new();
        for (node, leaving) in sides {
            let others = self.children[node].iter().filter(|child| !self.taken[**child]);
            starts.extend(others.map(|child| (*child, leaving.clone())));
        }
        starts
    }
}

fn time(node: &Node) -> f64 {
    node.time.unwrap_or(f64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes as `id<parent`; one in capitals says its id.
    fn taken(nodes: &str, current: Option<&str>) -> (Vec<String>, usize) {
        let nodes = nodes.split(' ').zip(0..).map(|(node, time)| {
            let (id, parent) = node.split_once('<').unwrap_or((node, ""));
            let shown = id.chars().all(|letter| letter.is_ascii_uppercase());
            Node {
                id: id.to_owned(),
                parent: Some(parent.to_owned()).filter(|parent| !parent.is_empty()),
                time: Some(f64::from(time)),
                message: shown
                    .then(|| MessageDraft { origin: id.to_owned(), ..MessageDraft::default() }),
            }
        });
        let found = branches(nodes.collect(), current);
        let shown = found.branches.iter().map(|branch| {
            let said: Vec<_> = branch.messages.iter().map(|it| it.origin.as_str()).collect();
            let leaves = branch.leaves.as_ref().map(|(number, after)| {
                format!("{number}{}:", after.as_deref().unwrap_or_default())
            });
            format!("{}{}", leaves.unwrap_or_default(), said.join(""))
        });
        (shown.collect(), found.lost)
    }

    #[test]
    fn what_was_seen_last_is_the_conversation_and_the_rest_are_branches_of_it() {
        let tree = "r A<r B<A C<B D<A E<D F<D G<B";
        let (found, lost) = taken(tree, Some("C"));
        assert_eq!((found, lost), (["ABC", "0A:DF", "0B:G", "1D:E"].map(str::to_owned).into(), 0));
        assert_eq!(taken(tree, None).0[0], "ABG");
        assert_eq!(taken(tree, Some("gone")).0[0], "ABG");
    }

    #[test]
    fn what_is_hidden_is_passed_through() {
        assert_eq!(taken("r A<r h<A B<h C<h", Some("B")).0, ["AB", "0A:C"]);
        assert_eq!(taken("A h<A i<h B<i C<h D<A", Some("D")).0, ["AD", "0A:C", "0A:B"]);
        assert_eq!(taken("r A<r B<r", Some("A")).0, ["A", "0:B"], "it begins differently");
        assert_eq!(taken("A B<x", Some("A")).0, ["A", "0:B"]);
        assert_eq!(taken("r A<r", Some("r")).0, ["A"]);
        assert_eq!(taken("A B<A C<B", Some("A")).0, ["A", "0A:BC"], "it went on elsewhere");
    }

    #[test]
    fn circles_end() {
        assert_eq!(taken("A<B B<A", Some("B")), (vec!["AB".to_owned()], 0));
        assert_eq!(taken("A<B B<A", None), (Vec::new(), 2));
        assert_eq!(taken("A B<B C<D D<C", Some("A")), (vec!["A".to_owned()], 3));
        assert_eq!(taken("A A<A", Some("A")), (vec!["A".to_owned(), "0A:A".to_owned()], 0));
    }

    #[test]
    fn a_tree_may_be_deep_and_wide() {
        let node = |id: usize, parent: Option<usize>| Node {
            id: id.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            time: None,
            message: Some(MessageDraft { origin: id.to_string(), ..MessageDraft::default() }),
        };
        let deep = (0..100_000).map(|id: usize| node(id, id.checked_sub(1)));
        assert_eq!(branches(deep.collect(), None).branches[0].messages.len(), 100_000);
        let wide = (0..100_000).map(|id: usize| node(id, (id > 0).then_some(0)));
        assert_eq!(branches(wide.collect(), Some("0")).branches.len(), 100_000);
    }
}
