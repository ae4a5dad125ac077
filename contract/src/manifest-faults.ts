/** What is wrong with `svc.yaml`, and where. */
export interface ManifestFault {
  /** Both from 1. */
  line: number;
  col: number;
  /** Dotted: `app.slug`; empty for the file as a whole. */
  field: string;
  code: string;
  detail: string;
}

/** All that was found, as they follow in the file. Whoever reads it knows how the file is called. */
export class ManifestFaults extends Error {
  readonly faults: readonly ManifestFault[];

  constructor(faults: readonly ManifestFault[]) {
    super('svc.yaml is not as it should be');
    this.name = 'ManifestFaults';
    this.faults = faultsInOrder(faults);
  }
}

export function faultsInOrder(faults: readonly ManifestFault[]): ManifestFault[] {
  return [...faults].sort((a, b) => a.line - b.line || a.col - b.col);
}

/** In the form that editors can follow: `svc.yaml:7:3: unknown key "biuld"`. */
export function faultText(file: string, { line, col, field, code, detail }: ManifestFault): string {
  // An unknown key is named by what is said about it.
  return `${file}:${line}:${col}: ${field === '' || code === 'unknown_key' ? detail : `${field} ${detail}`}`;
}
