export type SignInStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export function defaultStorage(): SignInStorage {
  return browserStorage('localStorage') ?? memory();
}

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
