// What scripts/pack-check asks of one packed file: that the validator finds no
// error in it, and that an independent reader finds the model that was packed.
import { readFileSync } from 'node:fs';
import validator from 'gltf-validator';
import { NodeIO } from '@gltf-transform/core';
import { ALL_EXTENSIONS } from '@gltf-transform/extensions';
import { getBounds } from '@gltf-transform/core';
import { MeshoptDecoder, MeshoptEncoder } from 'meshoptimizer';

const [before, after] = process.argv.slice(2);
const report = await validator.validateBytes(new Uint8Array(readFileSync(after)));
const wrong = report.issues.messages.filter((message) => message.severity === 0);
if (wrong.length > 0) {
    console.error('the validator finds errors:', wrong.slice(0, 5));
    process.exit(1);
}

await MeshoptDecoder.ready;
await MeshoptEncoder.ready;
const io = new NodeIO()
    .registerExtensions(ALL_EXTENSIONS)
    .registerDependencies({ 'meshopt.decoder': MeshoptDecoder, 'meshopt.encoder': MeshoptEncoder });

async function measure(path) {
    const document = await io.read(path);
    const scene = document.getRoot().getDefaultScene() ?? document.getRoot().listScenes()[0];
    let triangles = 0;
    let area = 0;
    scene.traverse((node) => {
        const matrix = node.getWorldMatrix();
        for (const primitive of node.getMesh()?.listPrimitives() ?? []) {
            const position = primitive.getAttribute('POSITION');
            const indices = primitive.getIndices();
            triangles += indices.getCount() / 3;
            const at = (corner) => {
                const [x, y, z] = position.getElement(indices.getScalar(corner), []);
                return [0, 1, 2].map((row) => matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z + matrix[12 + row]);
            };
            for (let corner = 0; corner < indices.getCount(); corner += 3) {
                const [a, b, c] = [at(corner), at(corner + 1), at(corner + 2)];
                const [u, v] = [b.map((value, axis) => value - a[axis]), c.map((value, axis) => value - a[axis])];
                area += Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]) / 2;
            }
        }
    });
    return { triangles, area, bounds: getBounds(scene) };
}

const [was, is] = [await measure(before), await measure(after)];
const size = Math.max(...was.bounds.max.map((value, axis) => value - was.bounds.min[axis]));
const moved = ['min', 'max'].flatMap((end) => was.bounds[end].map((value, axis) => Math.abs(value - is.bounds[end][axis])));
if (was.triangles !== is.triangles || Math.abs(was.area / is.area - 1) > 1e-4 || Math.max(...moved) > size * 2e-5) {
    console.error('another model comes back:', was, is);
    process.exit(1);
}
console.log(`read back: ${is.triangles} triangles, warnings ${report.issues.numWarnings}`);
