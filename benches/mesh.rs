//! What the ways of sending a model cost, on one thread, and how many bytes they
//! leave of it: `cargo bench --no-default-features --bench mesh`.
//! The models are not part of the repository: see `FOLDER`.

#![allow(clippy::expect_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use std::{hint::black_box, io::Write, ops::Range, path::Path};

use bytes::Bytes;
use convene::{
    mesh::{self, Assembly, Encoding, NORMAL_BITS, Plan, exact},
    transfer::CHUNK_BYTES,
};
use criterion::{Criterion, criterion_group, criterion_main};
use flate2::{Compression, write::GzEncoder};

/// Where the models lie.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/models");
const MODELS: [&str; 2] = ["surface885k.glb", "molecule.glb"];

fn pieces(file: &Bytes) -> impl Iterator<Item = Range<usize>> {
    let bytes = file.len();
    (0..bytes).step_by(CHUNK_BYTES).map(move |start| start..(start + CHUNK_BYTES).min(bytes))
}

fn gzip(file: &Bytes) -> Vec<Vec<u8>> {
    let pack = |piece: Range<usize>| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(&file[piece]).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    };
    pieces(file).map(pack).collect()
}

fn unzip(chunks: &[Vec<u8>]) -> usize {
    let unpack = |chunk: &Vec<u8>| {
        std::io::copy(&mut flate2::read::GzDecoder::new(&chunk[..]), &mut std::io::sink()).expect("ours")
    };
    chunks.iter().map(unpack).sum::<u64>() as usize
}

fn exactly(file: &Bytes) -> Vec<Vec<u8>> {
    let layout = exact::Layout::of(file);
    pieces(file).map(|piece| exact::encode(file, &layout, piece)).collect()
}

fn in_parts(file: &Bytes, encoding: Encoding) -> Vec<Vec<u8>> {
    let plan = Plan::new(file).expect("it is plain");
    let chunk = |index| plan.encode(index, encoding, NORMAL_BITS).map(|chunk| chunk.bytes);
    (0..plan.chunk_count()).filter_map(chunk).collect()
}

fn decoded(chunks: &[Vec<u8>]) -> Vec<mesh::Decoded> {
    chunks.iter().map(|chunk| mesh::decode(chunk).expect("ours")).collect()
}

fn bench(criterion: &mut Criterion) {
    for model in MODELS {
        let path = Path::new(FOLDER).join(model);
        let Ok(file) = std::fs::read(&path).map(Bytes::from) else {
            println!("{} is missing: nothing is measured", path.display());
            continue;
        };
        let mut group = criterion.benchmark_group(model);
        group.sample_size(10);
        let tell = |what: &str, chunks: &[Vec<u8>]| {
            println!("{model}, {what}: {} bytes", chunks.iter().map(Vec::len).sum::<usize>());
        };
        println!("{model}, raw: {} bytes", file.len());
        group.bench_function("raw: copied", |bencher| bencher.iter(|| black_box(&file[..]).to_vec()));
        let chunks = gzip(&file);
        tell("gzip", &chunks);
        group.bench_function("gzip: encode", |bencher| bencher.iter(|| gzip(black_box(&file))));
        group.bench_function("gzip: decode", |bencher| bencher.iter(|| unzip(black_box(&chunks))));
        let chunks = exactly(&file);
        tell("exact", &chunks);
        group.bench_function("exact: encode", |bencher| bencher.iter(|| exactly(black_box(&file))));
        group.bench_function("exact: decode", |bencher| {
            bencher.iter(|| {
                let mut back = Vec::with_capacity(file.len());
                for (chunk, piece) in chunks.iter().zip(pieces(&file)) {
                    exact::decode(chunk, piece.len(), &mut back).expect("ours");
                }
                back
            });
        });
        for encoding in Encoding::ALL {
            let name = encoding.as_str();
            let chunks = in_parts(&file, encoding);
            tell(name, &chunks);
            group.bench_function(format!("{name}: encode"), |bencher| {
                bencher.iter(|| in_parts(black_box(&file), encoding));
            });
            group.bench_function(format!("{name}: decode"), |bencher| {
                bencher.iter(|| decoded(black_box(&chunks)));
            });
        }
        let assembly = Assembly::new(chunks_of(&file), usize::MAX);
        for (index, chunk) in (0..).zip(decoded(&in_parts(&file, Encoding::Fast))) {
            assembly.insert(index, chunk.into()).expect("ours");
        }
        group.bench_function("parts to a GLB", |bencher| bencher.iter(|| assembly.glb().expect("ours")));
        group.finish();
    }
}

fn chunks_of(file: &Bytes) -> u32 {
    Plan::new(file).expect("it is plain").chunk_count()
}

criterion_group!(benches, bench);
criterion_main!(benches);
