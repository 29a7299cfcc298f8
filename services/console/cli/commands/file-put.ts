import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { mediaTypePattern } from '../../../chassis/context/messages.ts';
import { blobDirOf } from '../config.ts';
import { type CommandSpec, textOption } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';

/** Keeps a file where hosts find it, and says what an agent's input names it by. */
export const filePut: CommandSpec = {
  name: 'put <path>',
  about:
    'keep an image or a file for a model; prints what the input of a goal names it by, as JSON',
  options: [
    {
      flags: '--type <media-type>',
      about: 'what it is, where the name does not say: image/png, …',
    },
  ],
  examples: [
    'longrein file put chart.png',
    'longrein goal submit --plan look --input "picture=$(longrein file put chart.png)"',
  ],
  async run(call) {
    const [path = ''] = call.args;
    const [{ createDirectoryBlobs }, files] = await Promise.all([
      import('../../../chassis/content/blobs.ts'),
      import('../../../chassis/content/files.ts'),
    ]);
    const mediaType = textOption(call, 'type') ?? files.mediaTypeOf(path);
    if (mediaType === undefined || !mediaTypePattern.test(mediaType))
      throw new UsageError(
        mediaType === undefined
          ? `what "${path}" is does not follow from its name`
          : `"${mediaType}" is no media type`,
        'Say it with --type, such as --type image/png or --type application/pdf.',
      );
    const bytes = await readFile(resolve(call.workingDir, path)).catch((thrown: unknown) => {
      const why = (thrown as NodeJS.ErrnoException).code ?? 'it cannot be read';
      throw new UsageError(`"${path}" was not read: ${why}`, 'Name a file that is there.');
    });
    const blobs = createDirectoryBlobs(blobDirOf(call.environment));
    const kept = await files.putFile(blobs, { mediaType, bytes });
    call.terminal.out(`${JSON.stringify(kept)}\n`);
    return exitCodes.done;
  },
};
