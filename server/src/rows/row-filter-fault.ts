import { Failure } from '../plumbing/problem.ts';
import { parseQuery } from './parse-query.ts';

/** For other slices: why the row API could not read a text as a filter of rows; null where it could. */
export function rowFilterFault(text: string): string | null {
  try {
    parseQuery(text, 'filter');
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const [first] = error.errors ?? [];
    return `can not be read at ${JSON.stringify(first?.field ?? '')}: ${first?.detail ?? ''}`;
  }
}
