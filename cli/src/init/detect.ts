import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import type { Evidence } from './evidence.ts';
import type { FolderFacts } from './folder-facts.ts';
import { type Given, nameOf, slugOf } from './names.ts';
import { nodeProject } from './node-project.ts';
import { servingOf } from './serving.ts';

export interface Detected {
  manifest: Manifest;
  evidence: Evidence[];
}

/** A `svc.yaml` for a folder, from what is in it and what was said. Pure: the same facts give the same file. */
export function detect(facts: FolderFacts, given: Given): Detected {
  const project = nodeProject(facts);
  const name = nameOf(facts, project, given);
  const slug = slugOf(facts, name.value, given);
  const { tenant } = given;
  const serving = servingOf(facts, project);
  return {
    manifest: {
      name: name.value,
      ...(tenant !== undefined && { tenant }),
      ...(slug !== null && { app: { slug: slug.value } }),
      ...serving.manifest,
    },
    evidence: [
      { key: 'name', ...name },
      ...(tenant === undefined ? [] : [{ key: 'tenant', value: tenant, because: '--tenant or SVC_TENANT' }]),
      ...(slug === null ? [] : [{ key: 'app.slug', ...slug }]),
      ...serving.evidence,
    ],
  };
}
