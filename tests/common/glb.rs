//! Builds small GLB files for tests, valid or deliberately not.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use serde_json::{Value, json};

/// A GLB in the making. `json` may be changed at will before [`Glb::build`].
#[derive(Debug, Clone)]
pub struct Glb {
    pub json: Value,
    pub bin: Vec<u8>,
}

pub const I8: u32 = 5120;
pub const U8: u32 = 5121;
pub const I16: u32 = 5122;
pub const U16: u32 = 5123;
pub const U32: u32 = 5125;
pub const F32: u32 = 5126;

impl Default for Glb {
    fn default() -> Self {
        Self::new()
    }
}

impl Glb {
    /// A file without anything in it, in ChimeraX's way: a scene, but no default one.
    pub fn new() -> Self {
        let json = json!({
            "asset": { "version": "2.0" }, "scenes": [{ "nodes": [] }], "nodes": [], "meshes": [],
            "accessors": [], "bufferViews": [], "buffers": [{ "byteLength": 0 }],
        });
        Self { json, bin: Vec::new() }
    }

    /// A square of side 1 from the origin in the plane z = 0: 4 vertices, 2 triangles, normals, byte colours.
    pub fn quad() -> Self {
        let mut glb = Self::new();
        let primitive = glb.quad_primitive();
        glb.mesh(json!([primitive]));
        glb
    }

    pub fn quad_primitive(&mut self) -> Value {
        let positions = self.floats("VEC3", &[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
        let normals = self.floats("VEC3", &[0., 0., 1.].repeat(4));
        let colors =
            self.accessor(U8, "VEC4", 4, &[255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 1, 2, 3, 4]);
        self.accessor_mut(colors)["normalized"] = json!(true);
        let indices = self.indices(&[0, 1, 2, 0, 2, 3]);
        json!({
            "attributes": { "POSITION": positions, "NORMAL": normals, "COLOR_0": colors }, "indices": indices,
        })
    }

    /// A sheet of `side` x `side` vertices, two triangles between four of them, as a primitive.
    /// `vertex` gives position, normal and colour of the one of that number at (x, y).
    pub fn sheet(
        &mut self,
        side: usize,
        vertex: impl Fn(usize, f32, f32) -> ([f32; 3], [f32; 3], [u8; 4]),
    ) -> Value {
        let (mut positions, mut normals, mut colors, mut indices) = (vec![], vec![], vec![], vec![]);
        for n in 0..side * side {
            let (position, normal, color) = vertex(n, (n % side) as f32, (n / side) as f32);
            positions.extend(position);
            normals.extend(normal);
            colors.extend(color);
            if n % side + 1 < side && n / side + 1 < side {
                let (n, up) = (n as u32, side as u32);
                indices.extend([n, n + 1, n + up, n + 1, n + up + 1, n + up]);
            }
        }
        let (positions, normals) = (self.floats("VEC3", &positions), self.floats("VEC3", &normals));
        let colors = self.accessor(U8, "VEC4", side * side, &colors);
        self.accessor_mut(colors)["normalized"] = json!(true);
        let indices = self.indices(&indices);
        json!({
            "attributes": { "POSITION": positions, "NORMAL": normals, "COLOR_0": colors }, "indices": indices,
        })
    }

    /// Adds bytes as a buffer view and an accessor; returns the accessor.
    pub fn accessor(&mut self, component: u32, kind: &str, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        push(
            &mut self.json["accessors"],
            json!({
                "bufferView": view, "componentType": component, "type": kind, "count": count,
            }),
        )
    }

    pub fn view(&mut self, bytes: &[u8]) -> usize {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let view = json!({ "buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len() });
        self.bin.extend_from_slice(bytes);
        push(&mut self.json["bufferViews"], view)
    }

    pub fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            _ => 4,
        };
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.accessor(F32, kind, values.len() / width, &bytes)
    }

    pub fn indices(&mut self, indices: &[u32]) -> usize {
        let bytes: Vec<u8> = indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        self.accessor(U32, "SCALAR", indices.len(), &bytes)
    }

    pub fn accessor_mut(&mut self, accessor: usize) -> &mut Value {
        &mut self.json["accessors"][accessor]
    }

    /// Adds a mesh and a node of the scene that places it; returns the node.
    pub fn mesh(&mut self, primitives: Value) -> usize {
        let mesh = push(&mut self.json["meshes"], json!({ "primitives": primitives }));
        self.node(json!({ "mesh": mesh }))
    }

    pub fn node(&mut self, node: Value) -> usize {
        let node = push(&mut self.json["nodes"], node);
        push(&mut self.json["scenes"][0]["nodes"], json!(node));
        node
    }

    /// The file's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        if let Some(length) = json.pointer_mut("/buffers/0/byteLength") {
            *length = json!(self.bin.len());
        }
        let mut text = json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut bin = self.bin.clone();
        bin.resize(bin.len().next_multiple_of(4), 0);
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend((28 + text.len() as u32 + bin.len() as u32).to_le_bytes());
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(b"JSON");
        file.extend(text);
        file.extend((bin.len() as u32).to_le_bytes());
        file.extend(b"BIN\0");
        file.extend(bin);
        file
    }
}

fn push(list: &mut Value, value: Value) -> usize {
    let list = list.as_array_mut().unwrap();
    list.push(value);
    list.len() - 1
}
