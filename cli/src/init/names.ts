import { appNameCharsMax, reservedSlugs } from '@svc/contract/apps.ts';
import { isBlank, isSafeName } from '@svc/contract/safe-names.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { Reasoned } from './detect.ts';

export interface NameSources {
  packageName: string | null;
  origin: string | null;
  folder: string;
}

export interface RequestedNames {
  name?: string | undefined;
  slug?: string | undefined;
  tenant?: string | undefined;
}

export function chooseName(sources: NameSources, names: RequestedNames): Reasoned {
  const candidates: [string | null | undefined, string][] = [
    [names.name, 'as given'],
    [sources.packageName?.replace(/^@[^/]*\//, ''), 'name in package.json'],
    [repositoryName(sources.origin), 'the git remote origin'],
    [sources.folder, 'the name of the folder'],
  ];
  for (const [text, because] of candidates) {
    const value = text?.trim() ?? '';
    if (isName(value)) return { value, because };
  }
  return { value: 'app', because: 'nothing here has a name' };
}

export function isName(text: string): boolean {
  const count = [...text].length;
  return !isBlank(text) && count <= appNameCharsMax && text.isWellFormed() && isSafeName(text);
}

export function chooseSlug(sources: NameSources, name: string, names: RequestedNames): Reasoned | null {
  if (names.slug !== undefined) return { value: names.slug, because: 'as given' };
  const candidates: [string | null, string][] = [
    [name, 'made from the name'],
    [repositoryName(sources.origin), 'made from the git remote origin'],
    [sources.folder, 'made from the name of the folder'],
  ];
  for (const [text, because] of candidates) {
    const value = text === null ? null : slugFromName(text);
    if (value !== null && !reservedSlugs.includes(value)) return { value, because };
  }
  return null;
}

function repositoryName(origin: string | null): string | null {
  return /([^/:\\]+?)(?:\.git)?[/\\]*$/.exec(origin ?? '')?.[1] ?? null;
}
