import { type SignInStorage } from './storage.js';
export { SignInError } from './provider.js';
export type { SignInStorage } from './storage.js';
export interface SignInOptions {
    baseUrl: string;
    appId: string;
    redirectUri: string;
    storage?: SignInStorage;
    fetch?: (url: string, init: RequestInit) => Promise<Response>;
    navigate?: (url: string) => void;
    /** Applies to each request to the platform. Default: 60 seconds. */
    timeoutMs?: number;
}
export interface User {
    id: string;
    email: string;
    name: string;
}
export interface SignedIn {
    user: User;
    returnTo: string | null;
}
export interface SignIn {
    signIn(options?: {
        returnTo?: string;
        loginHint?: string;
    }): Promise<void>;
    /** Call on page load: completes a sign-in that redirected to the page, or returns null. */
    handleRedirect(url?: string): Promise<SignedIn | null>;
    getUser(): User | null;
    /** Returns a valid token, renewed if necessary; `insteadOf`: a token that the server rejected. */
    getToken(options?: {
        insteadOf?: string;
    }): Promise<string>;
    /** Ends the sign-in locally at once, then at the platform; rejects if the platform does not respond. */
    signOut(): Promise<void>;
    onChange(listener: (user: User | null) => void): () => void;
}
export declare function createSignIn(options: SignInOptions): SignIn;
