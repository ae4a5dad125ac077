export type SignInStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
export declare function defaultStorage(): SignInStorage;
export declare function tabStorage(): SignInStorage | null;
