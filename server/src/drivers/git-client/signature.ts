import type { PushFirst } from './git-client.ts';

/** Who made a commit and when, as git reads it from its environment: the same for the same. */
export function signature({ author, at }: Pick<PushFirst, 'author' | 'at'>): Record<string, string> {
  const date = `${Math.floor(at.getTime() / 1000)} +0000`;
  const [name, email] = [nameIn(author.name), nameIn(author.email)];
  return {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
  };
}

/** What git itself would refuse or drop. */
function nameIn(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  return text.replace(/[<>\n\r\u0000-\u001f]/g, ' ').trim() || 'svc';
}
