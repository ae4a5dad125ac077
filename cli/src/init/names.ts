import { appNameCharsMax, reservedSlugs } from '@svc/contract/apps.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { Reasoned } from './evidence.ts';
import type { FolderFacts } from './folder-facts.ts';
import type { NodeProject } from './node-project.ts';

/** What the person said. */
export interface Given {
  name?: string | undefined;
  slug?: string | undefined;
  tenant?: string | undefined;
}

/** What was said, or what has a name here. */
export function nameOf(facts: FolderFacts, project: NodeProject | null, given: Given): Reasoned {
  const candidates: [string | null | undefined, string][] = [
    [given.name, 'as given'],
    [project?.name?.replace(/^@[^/]*\//, ''), 'name in package.json'],
    [repositoryName(facts.origin), 'the git remote origin'],
    [facts.folder, 'the name of the folder'],
  ];
  for (const [text, because] of candidates) {
    const value = text?.trim() ?? '';
    if (isName(value)) return { value, because };
  }
  return { value: 'app', because: 'nothing here has a name' };
}

/** Length as people count it. */
export function isName(text: string): boolean {
  const count = [...text].length;
  return text.trim() !== '' && count <= appNameCharsMax && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

export function slugOf(facts: FolderFacts, name: string, given: Given): Reasoned | null {
  if (given.slug !== undefined) return { value: given.slug, because: 'as given' };
  const sources: [string | null, string][] = [
    [name, 'made from the name'],
    [repositoryName(facts.origin), 'made from the git remote origin'],
    [facts.folder, 'made from the name of the folder'],
  ];
  for (const [text, because] of sources) {
    const value = text === null ? null : slugFromName(text);
    if (value !== null && !reservedSlugs.includes(value)) return { value, because };
  }
  return null;
}

/** `git@host:acme/shop.git` → `shop` */
function repositoryName(origin: string | null): string | null {
  return /([^/:\\]+?)(?:\.git)?[/\\]*$/.exec(origin ?? '')?.[1] ?? null;
}
