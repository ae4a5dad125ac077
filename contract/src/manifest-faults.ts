export interface ManifestFault {
  /** Line and column start at 1. */
  line: number;
  col: number;
  field: string;
  code: string;
  detail: string;
}

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

export function faultText(file: string, { line, col, field, code, detail }: ManifestFault): string {
  return `${file}:${line}:${col}: ${field === '' || code === 'unknown_key' ? detail : `${field} ${detail}`}`;
}
