import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The code blocks of a guide in a language. */
export function guideExamples(guide: string, language: string): string[] {
  const text = readFileSync(join(import.meta.dir, '..', 'docs', 'guides', guide), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(([, block]) => block ?? '');
}
