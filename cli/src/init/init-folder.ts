import { reservedSlugs } from '@svc/contract/apps.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestFileNames } from '@svc/contract/manifest.ts';
import { usage } from '../errors.ts';
import { manifestIn } from '../find-manifest.ts';
import { detect } from './detect.ts';
import type { Evidence } from './evidence.ts';
import { lookAround } from './look-around.ts';
import { type Given, isName } from './names.ts';
import { renderManifest } from './render.ts';
import { fileExists, writeNewFile } from './write-new-file.ts';

export interface InitInput {
  folder: string;
  given: Given;
  /** The server that publishes the schema of the file. */
  baseUrl: string;
  to: 'new' | 'new_or_existing' | 'nowhere';
}

export interface Initialised {
  path: string;
  created: boolean;
  manifest: Manifest;
  evidence: Evidence[];
  text: string;
}

/** Makes the `svc.yaml` of a folder; only ever looks, never runs what it finds. */
export async function initFolder({ folder, given, baseUrl, to }: InitInput): Promise<Initialised> {
  checkGiven(given);
  const existing = await manifestIn(folder);
  const path = existing ?? `${folder}/${manifestFileNames[0]}`;
  if (existing !== null && to === 'new') throw fileExists(existing);
  const detected = detect(await lookAround(folder), given);
  const text = renderManifest(detected, { baseUrl });
  if (to !== 'nowhere') {
    await writeNewFile(path, text, { existing: to === 'new' ? 'refuse' : 'replace' });
  }
  return { path, created: to !== 'nowhere', ...detected, text };
}

function checkGiven({ name, slug, tenant }: Given): void {
  if (name !== undefined && !isName(name)) {
    throw usage('The name must be 1 to 100 characters on one line, and not blank.');
  }
  if (slug !== undefined && reservedSlugs.includes(slug)) throw usage(`--slug ${slug} is a reserved word.`);
  if (slug !== undefined && (!slugPattern.test(slug) || uuidPattern.test(slug))) {
    throw usage('--slug must be 2 to 63 of a-z, 0-9 and -, begin with a letter and not end with -.');
  }
  if (tenant !== undefined && !slugPattern.test(tenant) && !uuidPattern.test(tenant)) {
    throw usage(
      'The tenant (--tenant, SVC_TENANT) must be an id, or a slug: 2 to 63 of a-z, 0-9 and -, beginning with a letter.',
    );
  }
}
