import type { z } from 'zod';
import type { DetectedPlan } from '../git-host.shapes.ts';

export type BuildSettings = z.output<typeof DetectedPlan>;

export interface Evidence {
  file: string;
  says: string;
}

export interface Detected {
  options: BuildSettings[];
  packageManager: string | null;
  evidence: Evidence[];
}

export const unknownSettings: BuildSettings = {
  deploy_method: 'docker',
  language: 'unknown',
  framework: null,
  install_command: null,
  build_command: null,
  release_command: null,
  start_command: null,
  output_dir: null,
  dockerfile: null,
  compose_file: null,
  dir: null,
};

export function isDeployable(option: BuildSettings): boolean {
  const { start_command, output_dir, dockerfile, compose_file } = option;
  return [start_command, output_dir, dockerfile, compose_file].some((found) => found !== null);
}
