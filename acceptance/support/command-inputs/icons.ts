import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { png } from '../images.ts';
import { temporaryFolder } from '../server.ts';
import { newApp, type World } from '../world.ts';

export const iconInputs: Readonly<Record<string, (world: World) => Promise<string[]>>> = {
  'apps sign-icon-upload': async ({ tenant, people }) => {
    const { slug } = await newApp(tenant, { owner: people.A, coOwner: people.C });
    const file = join(temporaryFolder(), 'icon.png');
    writeFileSync(file, png());
    return ['--app', slug, '--file', file];
  },
};
