export type SignInStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Shared by the tabs of an origin; outside of browsers, and where they refuse it, it lasts as long as the program. */
export function defaultStorage(): SignInStorage {
  return browserStorage('localStorage') ?? memory();
}

/** For what belongs to one tab alone. */
export function tabStorage(): SignInStorage | null {
  return browserStorage('sessionStorage');
}

function browserStorage(name: 'localStorage' | 'sessionStorage'): SignInStorage | null {
  try {
    return typeof document === 'undefined' ? null : globalThis[name];
  } catch {
    return null;
  }
}

function memory(): SignInStorage {
  const items = new Map<string, string>();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
}
