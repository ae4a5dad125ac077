import { responseError } from './errors.ts';

export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw responseError(response, text);
  }
}
