import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openObjectStore } from '../../drivers/object-store/object-store.ts';
import { type Check, messageOf, ok, problem } from './check.ts';

/** By an object of its own, which is gone again when it has been read. */
export const objectStore: Check = {
  name: 'object store',
  needs: 'config',
  run: async (config) => {
    const { objectStore: place, dataDir } = config;
    const folder = join(dataDir, 'objects');
    // Made by whoever runs the doctor, it might be closed to the server.
    if (place.kind === 'file' && !existsSync(folder)) return ok(`There are no objects in ${folder} yet.`);
    try {
      await openObjectStore(config).check();
    } catch (error) {
      const hint =
        place.kind === 'file'
          ? 'Give the server its data dir back, with the right to write into it, and room on the disk.'
          : 'Compare SVC_OBJECT_STORE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY with what the store has.';
      return problem(messageOf(error), hint);
    }
    return ok(
      place.kind === 'file'
        ? `Objects are files in ${folder}.`
        : `Objects are in the bucket ${place.bucket} at ${place.endpoint}.`,
    );
  },
};
