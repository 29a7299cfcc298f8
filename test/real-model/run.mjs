// `npm run test:real-model`: one goal on a real model, end to end, on a stack of its own. Run by hand: no part of `npm test`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from '../../deploy/local/bootstrap.mjs';

const baseUrl = process.env.LONGREIN_REAL_MODEL_URL?.trim();
if (!baseUrl) {
  process.stderr.write(
    'LONGREIN_REAL_MODEL_URL is not set: no model was asked.\n' +
      'Give it the URL in front of /chat/completions of a server that speaks OpenAI’s protocol, such as\n' +
      '  LONGREIN_REAL_MODEL_URL=http://127.0.0.1:8080/v1 LONGREIN_REAL_MODEL=smollm2 npm run test:real-model\n' +
      'LONGREIN_REAL_MODEL names the model there, LONGREIN_REAL_MODEL_KEY holds a key where one is needed,\n' +
      'LONGREIN_REAL_MODEL_PLAN a plan of deploy/examples such as research-team, in the place of one agent that answers.\n',
  );
  process.exit(2);
}
await ensureBuilt({ tests: true });
const scratch = mkdtempSync(join(tmpdir(), 'longrein-real-model-'));
process.env.LONGREIN_STATE_DIR = join(scratch, '.longrein');
const { up, down } = await import('../../dist/deploy/local/stack.js');
const { runOnRealModel } = await import('../../dist/test/real-model/main.js');
const tell = (event) => {
  if (event.kind === 'step') process.stderr.write(`${event.name} ${event.state} ${event.detail}\n`);
};
try {
  const stack = await up({}, tell);
  process.exitCode = (await runOnRealModel(stack, { baseUrl, directory: scratch })) ? 0 : 1;
} finally {
  await down({ wipe: true }, tell);
  rmSync(scratch, { recursive: true, force: true });
}
