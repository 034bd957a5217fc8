//! From a file on the disk to a decoded model, beside Bevy's own glTF loader.
//!
//! `cargo bench --bench open` (with Bevy), or `--no-default-features` without it.
//! The model is not part of the repository: see `MODEL`.

#![allow(clippy::expect_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use std::hint::black_box;
use std::path::Path;

use convene::model::bvh::Bvh;
use convene::model::parts::parts;
use convene::model::simplify::simplify;
use convene::model::split::split;
use convene::model::{Cancel, DecodedModel, Limits, decode_shared, read_model_file};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// Where the model lies: 23 MB, 885,832 triangles, in ChimeraX's layout.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/models");
const MODEL: &str = "surface885k.glb";

fn open(path: &Path) -> DecodedModel {
    let packed = read_model_file(path, &Limits::default()).expect("the file can be read");
    decode_shared(&packed.glb.into(), &Limits::default(), &Cancel::default())
        .expect("the file can be decoded")
}

fn bench(criterion: &mut Criterion) {
    let path = Path::new(FOLDER).join(MODEL);
    if !path.is_file() {
        println!("{} is missing: nothing is measured", path.display());
        return;
    }
    let mut group = criterion.benchmark_group(MODEL);
    group.sample_size(20);
    group.bench_function("convene: file to model", |bencher| bencher.iter(|| open(black_box(&path))));
    #[cfg(feature = "app")]
    group.bench_function("bevy: file to assets", bevy_loader::bench);
    let model = open(&path);
    group.bench_function("convene: model to pieces of 4 MB", |bencher| {
        bencher.iter(|| split(black_box(&model), 4 << 20));
    });
    group.bench_function("convene: model to meshes for the GPU", |bencher| {
        bencher.iter_batched(
            || model.clone(),
            |mut model| parts(&mut model, 4 << 20),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("convene: model to 250,000 triangles", |bencher| {
        bencher.iter_batched(
            || model.clone(),
            |mut model| simplify(&mut model, 250_000, &Cancel::default()),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("convene: model to tree", |bencher| bencher.iter(|| Bvh::build(black_box(&model))));
    let tree = Bvh::build(&model);
    let (from, size) = (model.bounds.center(), model.bounds.largest_side());
    group.bench_function("convene: one ray", |bencher| {
        let mut turn = 0.0f32;
        bencher.iter(|| {
            turn += 0.1;
            let outward = glam::Vec3::new(turn.cos(), (turn * 0.37).sin(), turn.sin());
            tree.raycast(from + outward * size, -outward, f32::INFINITY)
        });
    });
    group.finish();
}

#[cfg(feature = "app")]
mod bevy_loader {
    use std::time::{Duration, Instant};

    use bevy::app::TaskPoolPlugin;
    use bevy::asset::{AssetPlugin, LoadState};
    use bevy::gltf::{Gltf, GltfPlugin};
    use bevy::mesh::MeshPlugin;
    use bevy::prelude::*;
    use bevy::world_serialization::WorldSerializationPlugin;
    use criterion::Bencher;

    use super::{FOLDER, MODEL};

    /// The loader alone, without a window or a GPU.
    pub(super) fn bench(bencher: &mut Bencher) {
        let mut app = App::new();
        app.add_plugins((
            TaskPoolPlugin::default(),
            AssetPlugin { file_path: FOLDER.to_owned(), ..default() },
            WorldSerializationPlugin,
            MeshPlugin,
            GltfPlugin::default(),
        ));
        app.finish();
        app.cleanup();
        bencher.iter_custom(|iterations| {
            let mut spent = Duration::ZERO;
            for _ in 0..iterations {
                let start = Instant::now();
                let handle = load(&mut app);
                spent += start.elapsed();
                unload(&mut app, handle);
            }
            spent
        });
    }

    fn load(app: &mut App) -> Handle<Gltf> {
        let server = app.world().resource::<AssetServer>().clone();
        let handle: Handle<Gltf> = server.load(MODEL);
        loop {
            app.update();
            match server.load_state(&handle) {
                LoadState::Loaded => return handle,
                LoadState::Failed(error) => panic!("{error}"),
                // A frame's worth of waiting would be measured as the loader's.
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    /// Waits until the asset is gone, so that the next load is one.
    fn unload(app: &mut App, handle: Handle<Gltf>) {
        let id = handle.id();
        drop(handle);
        while app.world().resource::<AssetServer>().get_load_state(id).is_some() {
            app.update();
        }
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
