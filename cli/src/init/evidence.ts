/** Why a key of a new `svc.yaml` has the value it has. */
export interface Evidence {
  key: string;
  value: string;
  because: string;
}

/** A value with the reason for it. */
export type Reasoned = Omit<Evidence, 'key'>;
