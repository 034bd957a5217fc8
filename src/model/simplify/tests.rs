//! Spheres, sheets and soups.

use glam::{Affine3A, Vec3};
use proptest::prelude::*;

use super::*;
use crate::model::{Bounds, Instance};

/// A sphere of radius 1 of `2 * n * (n - 1)` triangles, its upper half red.
fn sphere(n: u32) -> Primitive {
    let mut positions = vec![[0.0, 0.0, 1.0]];
    for ring in 1..n {
        let polar = std::f32::consts::PI * ring as f32 / n as f32;
        for step in 0..n {
            let turn = std::f32::consts::TAU * step as f32 / n as f32;
            positions.push([polar.sin() * turn.cos(), polar.sin() * turn.sin(), polar.cos()]);
        }
    }
    positions.push([0.0, 0.0, -1.0]);
    let last = (positions.len() - 1) as u32;
    let at = |ring: u32, step: u32| 1 + (ring - 1) * n + step % n;
    let mut indices = Vec::new();
    for step in 0..n {
        indices.extend([0, at(1, step), at(1, step + 1)]);
        for ring in 1..n - 1 {
            indices.extend([at(ring, step), at(ring + 1, step), at(ring + 1, step + 1)]);
            indices.extend([at(ring, step), at(ring + 1, step + 1), at(ring, step + 1)]);
        }
        indices.extend([at(n - 1, step), last, at(n - 1, step + 1)]);
    }
    let colors =
        positions.iter().map(|p: &[f32; 3]| if p[2] > 0.0 { [255, 0, 0, 255] } else { [255; 4] }).collect();
    Primitive {
        topology: Topology::Triangles,
        bounds: Bounds::of_points(&positions),
        normals: Some(positions.clone().into()),
        colors: Some(Colors::U8(colors)),
        uvs: None,
        uvs_1: None,
        positions: positions.into(),
        indices: indices.into(),
        material: None,
    }
}

/// A square of n by n fields in the plane z = 0.
fn sheet(n: u32) -> Primitive {
    let positions: Vec<[f32; 3]> =
        (0..=n).flat_map(|y| (0..=n).map(move |x| [x as f32, y as f32, 0.0])).collect();
    let at = |x: u32, y: u32| y * (n + 1) + x;
    let fields = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
    let indices = fields
        .flat_map(|(x, y)| {
            [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y), at(x + 1, y + 1), at(x, y + 1)]
        })
        .collect();
    Primitive {
        bounds: Bounds::of_points(&positions),
        normals: Some(vec![[0.0, 0.0, 1.0]; positions.len()].into()),
        positions: positions.into(),
        indices,
        colors: None,
        ..sphere(3)
    }
}

fn model(primitives: Vec<Primitive>) -> DecodedModel {
    let place = |primitive| Instance { primitive, transform: Affine3A::IDENTITY, node: None };
    let mut model =
        DecodedModel { instances: (0..primitives.len()).map(place).collect(), ..DecodedModel::default() };
    model.counts.triangles = primitives.iter().map(|p| p.elements() as u64).sum();
    model.primitives = primitives;
    model
}

fn area(primitive: &Primitive) -> f32 {
    let triangles = primitive.indices.as_chunks::<3>().0.iter();
    let cross = triangles.map(|t| {
        let [a, b, c] = t.map(|i| Vec3::from(primitive.positions[i as usize]));
        (b - a).cross(c - a)
    });
    cross.map(|cross| cross.length() / 2.0).sum()
}

#[test]
fn a_sphere_stays_a_sphere() {
    let mut model = model(vec![sphere(100)]);
    let before = area(&model.primitives[0]);
    let simplified = simplify(&mut model, 2000, &Cancel::default()).unwrap();
    assert_eq!(simplified.from, 19_800);
    let sphere = &model.primitives[0];
    assert!((1800..=2000).contains(&sphere.elements()), "{}", sphere.elements());
    assert_eq!(simplified.to, sphere.elements() as u64);
    assert!((area(sphere) / before - 1.0).abs() < 0.01, "{} for {before}", area(sphere));
    for triangle in sphere.indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(|i| Vec3::from(sphere.positions[i as usize]));
        assert!((b - a).cross(c - a).dot(a + b + c) > 0.0, "a triangle faces inwards");
        assert!(((a + b + c) / 3.0).length() > 0.97);
    }
    // What is left is the file's own.
    for (position, normal) in sphere.positions.iter().zip(sphere.normals.as_ref().unwrap()) {
        assert_eq!(position, normal);
    }
}

#[test]
fn a_flat_sheet_keeps_its_border() {
    let mut model = model(vec![sheet(50)]);
    simplify(&mut model, 300, &Cancel::default()).unwrap();
    let sheet = &model.primitives[0];
    assert!(sheet.elements() <= 300, "{}", sheet.elements());
    assert_eq!(sheet.bounds, Bounds { min: Vec3::ZERO, max: Vec3::new(50.0, 50.0, 0.0) });
    assert!((area(sheet) - 2500.0).abs() < 1.0, "{}", area(sheet));
}

#[test]
fn triangles_with_corners_of_their_own_are_simplified_too() {
    let mut soup = sphere(60);
    let corners = std::mem::take(&mut soup.indices);
    let pick = |list: &[[f32; 3]]| corners.iter().map(|&i| list[i as usize]).collect::<Vec<_>>();
    let positions = pick(&soup.positions);
    // Flat: the corners of each triangle have its normal.
    let normals = positions.as_chunks::<3>().0.iter().flat_map(|[a, b, c]| {
        let [a, b, c] = [a, b, c].map(|p| Vec3::from(*p));
        [(b - a).cross(c - a).normalize_or_zero().to_array(); 3]
    });
    soup.normals = Some(normals.collect());
    soup.positions = positions.into();
    soup.colors = None;
    soup.indices = (0..soup.positions.len() as u32).collect();
    let mut model = model(vec![soup]);
    let simplified = simplify(&mut model, 1000, &Cancel::default()).unwrap();
    assert!(simplified.to <= 1000, "{simplified:?}");
}

#[test]
fn a_place_with_very_many_triangles_takes_no_longer() {
    // A cone of 50,000 triangles around one tip.
    let n = 50_000u32;
    let rim =
        (0..n).map(|i| std::f32::consts::TAU * i as f32 / n as f32).map(|turn| [turn.cos(), turn.sin(), 0.0]);
    let positions: Vec<[f32; 3]> = rim.chain([[0.0, 0.0, 1.0]]).collect();
    let mut cone =
        Primitive { bounds: Bounds::of_points(&positions), colors: None, normals: None, ..sphere(3) };
    cone.positions = positions.into();
    cone.indices = (0..n).flat_map(|i| [i, (i + 1) % n, n]).collect();
    let mut model = model(vec![cone]);
    let start = std::time::Instant::now();
    simplify(&mut model, 1000, &Cancel::default()).unwrap();
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(model.counts.triangles < 25_000);
}

#[test]
fn each_gives_up_its_share_and_small_models_nothing() {
    let mut all = model(vec![sphere(40), sphere(20), sphere(10)]);
    assert_eq!(simplify(&mut all.clone(), 1_000_000, &Cancel::default()), None);
    let before: Vec<_> = all.primitives.iter().map(Primitive::elements).collect();
    let half = all.counts.triangles / 2;
    simplify(&mut all, half, &Cancel::default()).unwrap();
    for (primitive, before) in all.primitives.iter().zip(before) {
        let share = primitive.elements() as f32 / before as f32;
        assert!((0.3..=0.5).contains(&share), "{share} of {before}");
    }
    let cancel = Cancel::default();
    cancel.cancel();
    let mut untouched = model(vec![sphere(20)]);
    assert_eq!(simplify(&mut untouched, 10, &cancel).unwrap().to, 760);
}

proptest! {
    #[test]
    fn nonsense_stays_within_itself(
        corners in prop::collection::vec(0u32..30, 3..400),
        flat in any::<bool>(),
    ) {
        let mut odd = sphere(6);
        odd.positions.truncate(30);
        odd.normals.as_mut().unwrap().truncate(30);
        if flat {
            for position in odd.positions.to_mut() { position[2] = 0.0; }
        }
        odd.colors = None;
        odd.indices = corners[..corners.len() / 3 * 3].to_vec().into();
        let mut model = model(vec![odd]);
        simplify(&mut model, 9, &Cancel::default());
        let p = &model.primitives[0];
        prop_assert!(p.indices.iter().all(|&i| (i as usize) < p.positions.len()));
        prop_assert_eq!(p.normals.as_ref().unwrap().len(), p.positions.len());
    }
}
