// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how Dockerfiles name arguments.
import { describe, expect, test } from 'bun:test';
import { AmbiguousDockerfileError, findImageProblem, parseDockerfile } from './read-dockerfile.ts';

const imagesIn = (text: string, given: Record<string, string> = {}) => [
  ...parseDockerfile(text, given).images,
];

describe('of a Dockerfile', () => {
  test.each<[what: string, text: string, images: string[]]>([
    ['the image it begins with', 'FROM node:22', ['node:22']],
    ['in small letters, with a platform', 'from --platform=linux/amd64 node:22 as x', ['node:22']],
    ['over several lines', 'FROM \\\n# here\n\n  node:22', ['node:22']],
    ['by an argument', 'ARG V=22\nARG I="node:${V}"\nFROM $I', ['node:22']],
    ['by an argument that is given', 'ARG GIVEN=node\nFROM ${GIVEN}', ['a1b2']],
    ['by a default', 'FROM ${NONE:-a1}${NONE:+x}', ['a1']],
    ['of several stages', 'FROM a:1 AS db\nFROM db\nCOPY --from=db /a /\nCOPY --from=0 /a /', ['a:1']],
    ['by COPY', 'FROM a:1\nCOPY --chown=1:1 --from=c0ffee /a /', ['a:1', 'c0ffee']],
    ['of a stage that comes later', 'FROM a:1\nCOPY --from=db /a /\nFROM b:1 AS db', ['a:1', 'db', 'b:1']],
    ['by a mount', 'FROM a:1\nRUN --mount=type=bind,from=c0ffee,target=/x ls /x', ['a:1', 'c0ffee']],
    ['by what is done later', 'FROM a:1\nONBUILD COPY --from=c0ffee /a /', ['a:1', 'c0ffee']],
    ['behind a strange space', 'FROM a:1\n\u0085FROM b:1', ['a:1', 'b:1']],
    ['a number that is no stage', 'FROM a:1\nCOPY --from=7 /a /', ['a:1', '7']],
  ])('has these images: %s', (_, text, images) => {
    expect(imagesIn(text, { GIVEN: 'a1b2' })).toEqual(images);
  });

  test.each([
    'FROM a:1\nCOPY --fr\\om=4 /a /',
    'FROM a:1\nCOPY --from="4" /a /',
    'FROM a:1\nCOPY --from=$X /a /',
    'FROM ${X#y}',
    'FROM \\4',
    'ARG X=\\4\nFROM $X',
    'FROM a:1\nRUN echo \\\\\nFROM 4',
    '# escape=`\nFROM a:1',
  ])('ambiguous text is rejected: %j', (text) => {
    expect(() => imagesIn(text)).toThrow(AmbiguousDockerfileError);
  });

  test('has the ARG names of all stages', () => {
    const { args } = parseDockerfile(
      'ARG A\nARG T="two words"\nFROM x:1\nARG B=1 C\nENV D=1\nRUN echo $E',
      {},
    );
    expect([...args]).toEqual(['A', 'T', 'B', 'C']);
  });
});

test('image IDs and names of the platform are rejected', () => {
  for (const name of ['4', '40c92ef49362', 'a'.repeat(64), `sha256:${'a'.repeat(64)}`, 'sha256:4'])
    expect([name, findImageProblem(name)]).toEqual([name, expect.stringContaining('ID of an image')]);
  expect(findImageProblem('localhost:1/svc/a:b')).toContain('platform');
  const image = 'registry.example.com/svc/0198a2f6-7c1e-7000-8000-000000000001:tag';
  expect(findImageProblem(image)).toContain('platform');
  for (const name of ['node:22', 'cafe:1', 'docker.io/library/cafe', 'busybox', 'scratch', 'x@sha256:ab'])
    expect([name, findImageProblem(name)]).toEqual([name, null]);
});
