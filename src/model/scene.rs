//! Nodes flattened: which mesh is where.

use glam::{Affine3A, DAffine3, DMat3, DMat4, DQuat, DVec3, Vec3};

use super::document::{Document, Node, Whole};
use super::error::DecodeError;
use super::limits::Limits;
use super::warnings::Warnings;

/// A mesh placed by a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) mesh: usize,
    /// None where no node places it.
    pub(super) node: Option<usize>,
    /// model_from_mesh.
    pub(super) transform: Affine3A,
}

/// Where everything of the scene is.
#[derive(Debug, Default)]
pub(super) struct Placements {
    pub(super) meshes: Vec<Placed>,
    /// Numbers of lights, with model_from_light.
    pub(super) lights: Vec<(usize, Affine3A)>,
    /// model_from_node of each node of the file, if it is in the scene.
    pub(super) nodes: Vec<Option<DAffine3>>,
    /// The parent of each node in the scene.
    pub(super) parents: Vec<Option<usize>>,
    /// The nodes of the scene, parents before their children.
    pub(super) order: Vec<usize>,
}

/// The meshes of the file's scene: its default one, else the first (every
/// ChimeraX file), else every node that is no child of another.
pub(super) fn placements(
    document: &Document,
    limits: &Limits,
    warnings: &mut Warnings,
) -> Result<Placements, DecodeError> {
    let nodes = &document.nodes;
    if nodes.len() > limits.max_nodes {
        let (count, limit) = (nodes.len() as u64, limits.max_nodes as u64);
        return Err(DecodeError::TooMany { what: "nodes", count, limit });
    }
    if nodes.is_empty() && document.scenes.is_empty() && !document.meshes.is_empty() {
        warnings.push("no node places the meshes: each is shown at the origin");
        let all = 0..document.meshes.len().min(limits.max_instances);
        let meshes = all.map(|mesh| Placed { mesh, node: None, transform: Affine3A::IDENTITY }).collect();
        return Ok(Placements { meshes, ..Placements::default() });
    }
    let roots = roots(document, warnings);
    let mut walk = Walk { nodes, met: vec![false; nodes.len()], stack: Vec::new(), warnings };
    walk.push_all(&roots, &Visit::root());
    let mut placed = Placements {
        nodes: vec![None; nodes.len()],
        parents: vec![None; nodes.len()],
        ..Placements::default()
    };
    while let Some(Visit { node: number, parent, model_from_parent, depth, hidden }) = walk.stack.pop() {
        let Some(node) = nodes.get(number) else { continue };
        let hidden = hidden || node.extensions.visibility.as_ref().is_some_and(|v| v.visible == Some(false));
        if depth > limits.max_depth {
            let (count, limit) = (depth as u64, limits.max_depth as u64);
            return Err(DecodeError::TooMany { what: "levels of nodes", count, limit });
        }
        let model_from_node = model_from_parent * local(number, node, walk.warnings);
        placed.order.push(number);
        if let Some(place) = placed.nodes.get_mut(number) {
            *place = Some(model_from_node);
        }
        if let Some(place) = placed.parents.get_mut(number) {
            *place = parent;
        }
        let transform = model_from_node.as_affine3a();
        let light = node.extensions.light.as_ref().and_then(|light| light.light);
        let light = light.filter(|_| transform.is_finite() && !hidden);
        placed.lights.extend(light.map(|light| (light.index(), transform)));
        if let Some(mesh) = node.mesh {
            if hidden {
                walk.warnings.fault("the file hides some meshes (KHR_node_visibility)");
            } else if transform.is_finite() {
                placed.meshes.push(Placed { mesh: mesh.index(), node: Some(number), transform });
            } else {
                walk.warnings.fault(format_args!("node {number} is nowhere: its transform is not finite"));
            }
        }
        let child = Visit {
            parent: Some(number),
            model_from_parent: model_from_node,
            depth: depth + 1,
            hidden,
            ..Visit::root()
        };
        walk.push_all(&node.children, &child);
    }
    Ok(placed)
}

/// A walk over the nodes that visits each once, whatever the file says.
struct Walk<'a> {
    nodes: &'a [Node],
    /// Nodes that are or were on the stack, so that it stays as short as the list of nodes.
    met: Vec<bool>,
    stack: Vec<Visit>,
    warnings: &'a mut Warnings,
}

#[derive(Clone, Copy)]
struct Visit {
    node: usize,
    parent: Option<usize>,
    model_from_parent: DAffine3,
    depth: usize,
    /// Whether a parent hides it.
    hidden: bool,
}

impl Visit {
    const fn root() -> Self {
        Self { node: 0, parent: None, model_from_parent: DAffine3::IDENTITY, depth: 0, hidden: false }
    }
}

impl Walk<'_> {
    /// The last pushed comes first, so they are pushed backwards.
    fn push_all(&mut self, children: &[Whole], visit: &Visit) {
        for child in children.iter().rev() {
            let node = child.index();
            match self.met.get_mut(node) {
                Some(met) if !*met => {
                    *met = true;
                    self.stack.push(Visit { node, ..*visit });
                }
                Some(_) => self.warnings.fault(format_args!(
                    "node {node} is in a loop or has more than one parent: it is shown once"
                )),
                None => self
                    .warnings
                    .fault(format_args!("node {node} does not exist, the file has {}", self.nodes.len())),
            }
        }
    }
}

fn roots(document: &Document, warnings: &mut Warnings) -> Vec<Whole> {
    let default = document.scene.map(Whole::index);
    let scene = default.and_then(|scene| document.scenes.get(scene));
    if let (Some(number), None) = (default, scene) {
        let count = document.scenes.len();
        warnings.fault(format_args!("scene {number} does not exist, the file has {count}"));
    }
    if let Some(scene) = scene.or(document.scenes.first()) {
        return scene.nodes.clone();
    }
    let mut is_child = vec![false; document.nodes.len()];
    for child in document.nodes.iter().flat_map(|node| &node.children) {
        if let Some(is_child) = is_child.get_mut(child.index()) {
            *is_child = true;
        }
    }
    is_child.iter().enumerate().filter(|(_, child)| !**child).map(|(node, _)| Whole(node as u64)).collect()
}

/// parent_from_node. Twice the precision, because centring translations cancel large coordinates.
pub(super) fn local(number: usize, node: &Node, warnings: &mut Warnings) -> DAffine3 {
    let wide = |v: [f32; 3]| Vec3::from(v).as_dvec3();
    if let Some(matrix) = node.matrix {
        let matrix = DMat4::from_cols_array(&matrix.map(f64::from));
        if !matrix.row(3).abs_diff_eq(glam::DVec4::W, 1e-5) {
            warnings.push(format_args!("node {number} has a matrix with perspective, which is left out"));
        }
        let translation = matrix.w_axis.truncate();
        return DAffine3 { matrix3: DMat3::from_mat4(matrix), translation };
    }
    let scale = node.scale.map_or(DVec3::ONE, wide);
    let translation = node.translation.map_or(DVec3::ZERO, wide);
    let rotation = DQuat::from_array(node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]).map(f64::from));
    let length = rotation.length();
    if (length - 1.0).abs() > 1e-3 {
        warnings.push(format_args!("node {number} has a rotation that is not of unit length"));
    }
    let unit = rotation / length;
    let rotation = if unit.is_finite() { unit } else { DQuat::IDENTITY };
    DAffine3::from_scale_rotation_translation(scale, rotation, translation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document;

    fn placed(json: &str, limits: &Limits) -> (Result<Vec<Placed>, DecodeError>, Vec<String>) {
        let mut warnings = Warnings::default();
        let document = document::parse(json.as_bytes(), limits).unwrap();
        (placements(&document, limits, &mut warnings).map(|placed| placed.meshes), warnings.into_lines())
    }

    #[test]
    fn transforms_chain_from_the_first_scene() {
        let json = r#"{"scenes":[{"nodes":[0]}],"nodes":[{"translation":[1,2,3],"children":[1]},
            {"mesh":5,"scale":[2,2,2],"rotation":[0,0,0.70710678,0.70710678]},{"mesh":6}]}"#;
        let (placed, warnings) = placed(json, &Limits::default());
        let [Placed { mesh: 5, node: Some(1), transform }] = placed.unwrap()[..] else { panic!() };
        assert!(transform.transform_point3(Vec3::X).abs_diff_eq(Vec3::new(1.0, 4.0, 3.0), 1e-5));
        assert!(warnings.is_empty());
    }

    #[test]
    fn what_a_node_hides_is_not_placed() {
        let json = r#"{"nodes":[{"mesh":0},{"mesh":1,"children":[2,3],"extensions":{"KHR_node_visibility":
            {"visible":false}}},{"mesh":2,"extensions":{"KHR_node_visibility":{"visible":true}}},
            {"extensions":{"KHR_lights_punctual":{"light":0}}}]}"#;
        let (limits, mut warnings) = (Limits::default(), Warnings::default());
        let document = document::parse(json.as_bytes(), &limits).unwrap();
        let placed = placements(&document, &limits, &mut warnings).unwrap();
        assert_eq!(placed.meshes.iter().map(|placed| placed.mesh).collect::<Vec<_>>(), [0]);
        assert!(placed.lights.is_empty() && placed.nodes.iter().all(Option::is_some));
        assert_eq!(warnings.into_lines(), ["the file hides some meshes (KHR_node_visibility)"]);
    }

    #[test]
    fn a_matrix_is_by_columns_and_roots_are_found_without_scenes() {
        let json = r#"{"nodes":[{"mesh":0},{"children":[0],"matrix":[1,0,0,0,0,1,0,0,0,0,1,0,7,8,9,1]}]}"#;
        let (placed, _) = placed(json, &Limits::default());
        assert_eq!(Vec3::from(placed.unwrap()[0].transform.translation), Vec3::new(7.0, 8.0, 9.0));
    }

    #[test]
    fn loops_end() {
        let json = r#"{"scenes":[{"nodes":[0,0,9]}],"nodes":[{"children":[1]},{"children":[0],"mesh":0}]}"#;
        let (placed, warnings) = placed(json, &Limits::default());
        assert_eq!(placed.unwrap().len(), 1);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn depth_and_number_are_limited() {
        let chain: Vec<_> = (1..=300).map(|child| format!("{{\"children\":[{child}]}}")).collect();
        let json = format!("{{\"nodes\":[{},{{}}]}}", chain.join(","));
        let error = placed(&json, &Limits::default()).0.unwrap_err().to_string();
        assert_eq!(error, "the model has 257 levels of nodes, more than the limit of 256");
        let error = placed(&json, &Limits { max_nodes: 300, ..Limits::default() }).0.unwrap_err().to_string();
        assert_eq!(error, "the model has 301 nodes, more than the limit of 300");
    }

    #[test]
    fn a_rotation_of_zero_is_none() {
        let (placed, warnings) = placed(r#"{"nodes":[{"mesh":0,"rotation":[0,0,0,0]}]}"#, &Limits::default());
        assert_eq!(placed.unwrap()[0].transform, Affine3A::IDENTITY);
        assert_eq!(warnings.len(), 1);
    }
}
