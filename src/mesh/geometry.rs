//! A part's numbers between the file and the chunk: vertices gathered in the
//! order of their first use and quantized.

use super::{
    gltf::{Array, U8, U16},
    part::{Colors, Extra},
    plan::{PartPlan, Piece, Plain, Plan, floats3, place},
    quantize::{Grid, NormalBits, to_octahedron},
    reorder,
};

/// A part before it is encoded, or after it was decoded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Geometry {
    pub(super) points: Vec<[u16; 3]>,
    pub(super) normals: Option<Vec<[i16; 2]>>,
    pub(super) colors: Option<Colors>,
    pub(super) extras: Vec<(Extra, Vec<u8>)>,
    pub(super) triangles: Vec<[u32; 3]>,
}

/// Gathers a part of a plan; `strips`: in the order that is said in fewer bytes.
pub(super) fn gather(plan: &Plan, number: usize, bits: NormalBits, strips: bool) -> Option<Geometry> {
    let source = Source { glb: &plan.glb, plain: &plan.plain };
    source.gather(plan.parts.get(number)?, bits, strips)
}

/// Gathers a primitive by itself, in the space of its mesh.
pub(super) fn gather_mesh(glb: &[u8], plain: &Plain, grid: Grid, strips: bool) -> Option<Geometry> {
    let part = PartPlan {
        pieces: vec![Piece { plain: 0, triangles: 0..plain.triangles() }],
        mesh: None,
        material: plain.material,
        grid,
        small: false,
        vertices: plain.positions.count,
        anchors: Vec::new(),
    };
    Source { glb, plain: std::slice::from_ref(plain) }.gather(&part, NormalBits::Ten, strips)
}

/// Where a part's numbers come from.
struct Source<'a> {
    glb: &'a [u8],
    plain: &'a [Plain],
}

impl Source<'_> {
    fn gather(&self, part: &PartPlan, bits: NormalBits, strips: bool) -> Option<Geometry> {
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        // Of each vertex: which primitive's, and which of it.
        let mut vertices: Vec<(u32, u32)> = Vec::new();
        for piece in &part.pieces {
            let plain = self.plain.get(piece.plain)?;
            let from = triangles.len();
            read_triangles(self.glb, &plain.indices, piece.triangles.clone(), &mut triangles);
            if plain.transform.is_some_and(|transform| transform.matrix3.determinant() < 0.0) {
                triangles[from..].iter_mut().for_each(|[_, b, c]| std::mem::swap(b, c));
            }
            let corners = triangles[from..].as_flattened_mut();
            let (least, most) = corners.iter().fold((u32::MAX, 0), |(l, m), &i| (l.min(i), m.max(i)));
            let mut numbers = vec![u32::MAX; (most.checked_sub(least)? as usize).checked_add(1)?];
            for corner in corners {
                let number = &mut numbers[(*corner - least) as usize];
                if *number == u32::MAX {
                    *number = vertices.len() as u32;
                    vertices.push((piece.plain as u32, *corner));
                }
                *corner = *number;
            }
        }
        if strips {
            triangles = reorder::into_strips(&triangles, vertices.len());
            let mut numbers = vec![u32::MAX; vertices.len()];
            let mut order = Vec::with_capacity(vertices.len());
            for corner in triangles.as_flattened_mut() {
                let number = &mut numbers[*corner as usize];
                if *number == u32::MAX {
                    *number = order.len() as u32;
                    order.push(vertices[*corner as usize]);
                }
                *corner = *number;
            }
            vertices = order;
        }
        let first = self.plain.get(part.pieces.first()?.plain)?;
        // Anchors look like the first vertex, elsewhere.
        let mut points = self.points(part.grid, &vertices);
        points.extend(part.anchors.iter().map(|&anchor| part.grid.point(anchor)));
        vertices.resize(points.len(), *vertices.first()?);
        Some(Geometry {
            points,
            normals: first.normals.is_some().then(|| self.normals(&vertices, bits)),
            colors: first.colors.map(|array| self.colors(&array, &vertices)),
            extras: (0..first.extras.len()).map(|at| self.extra(at, &vertices)).collect(),
            triangles,
        })
    }

    fn points(&self, grid: Grid, vertices: &[(u32, u32)]) -> Vec<[u16; 3]> {
        let points = vertices.iter().map(|&(plain, vertex)| {
            let array = &self.plain[plain as usize].positions;
            let position = floats3(array.element(self.glb, vertex as usize));
            grid.point(self.plain[plain as usize].transform.as_ref().map_or(position, |t| place(t, position)))
        });
        points.collect()
    }

    fn normals(&self, vertices: &[(u32, u32)], bits: NormalBits) -> Vec<[i16; 2]> {
        // Of each primitive, once: what turns its normals, if anything does.
        let turns: Vec<Option<glam::Mat3>> = self
            .plain
            .iter()
            .map(|plain| plain.transform.map(|t| t.matrix3).filter(|m| *m != glam::DMat3::IDENTITY))
            .map(|matrix| matrix.map(|matrix| matrix.inverse().transpose().as_mat3()))
            .collect();
        let normal = |&(plain, vertex): &(u32, u32)| {
            let Some(array) = &self.plain[plain as usize].normals else { return [0; 2] };
            let normal = floats3(array.element(self.glb, vertex as usize));
            let normal = match turns[plain as usize] {
                Some(turn) => (turn * glam::Vec3::from(normal)).to_array(),
                None => normal,
            };
            to_octahedron(normal, bits)
        };
        vertices.iter().map(normal).collect()
    }

    fn colors(&self, first: &Array, vertices: &[(u32, u32)]) -> Colors {
        let bytes = |&(plain, vertex): &(u32, u32)| {
            let array = self.plain[plain as usize].colors.as_ref().unwrap_or(first);
            (array.element(self.glb, vertex as usize), array.width)
        };
        if first.component == U8 {
            Colors::U8(
                vertices
                    .iter()
                    .map(bytes)
                    .map(|(b, width)| [b[0], b[1], b[2], if width == 4 { b[3] } else { u8::MAX }])
                    .collect(),
            )
        } else {
            let read = |(bytes, width): (&[u8], usize)| {
                let numbers = bytes.as_chunks::<2>().0;
                let channel = |at: usize| {
                    if at < width { u16::from_le_bytes(numbers[at]) } else { u16::MAX }
                };
                [0, 1, 2, 3].map(channel)
            };
            Colors::U16(vertices.iter().map(bytes).map(read).collect())
        }
    }

    fn extra(&self, at: usize, vertices: &[(u32, u32)]) -> (Extra, Vec<u8>) {
        let kind = self.plain[vertices[0].0 as usize].extras[at].0;
        let mut bytes = Vec::with_capacity(vertices.len() * kind.stride());
        for &(plain, vertex) in vertices {
            let array = &self.plain[plain as usize].extras[at].1;
            bytes.extend_from_slice(&array.element(self.glb, vertex as usize)[..kind.stride()]);
        }
        (kind, bytes)
    }
}

fn read_triangles(glb: &[u8], indices: &Array, range: std::ops::Range<usize>, out: &mut Vec<[u32; 3]>) {
    let bytes = &glb
        [indices.start + range.start * 3 * indices.stride..indices.start + range.end * 3 * indices.stride];
    match indices.component {
        U8 => out.extend(bytes.as_chunks::<3>().0.iter().map(|triangle| triangle.map(u32::from))),
        U16 => out.extend(bytes.as_chunks::<6>().0.iter().map(|triangle| {
            let corners = triangle.as_chunks::<2>().0;
            [0, 1, 2].map(|corner| u32::from(u16::from_le_bytes(corners[corner])))
        })),
        _ => out.extend(bytes.as_chunks::<12>().0.iter().map(|triangle| {
            let corners = triangle.as_chunks::<4>().0;
            [0, 1, 2].map(|corner| u32::from_le_bytes(corners[corner]))
        })),
    }
}
