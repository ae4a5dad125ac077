import { createClient, createSignIn } from '../svc-sdk/main.ts';
import { settings } from './settings.ts';

interface Note {
  id: string;
  text: string;
  pinned: boolean;
  created_at: string;
}

/** As `svc tables types` writes it for all tables of the app. */
type Database = {
  notes: {
    Row: Note;
    Insert: { text: string; pinned?: boolean };
    Update: { text?: string; pinned?: boolean };
  };
};

export const signIn = createSignIn({
  baseUrl: settings.baseUrl,
  appId: settings.appId,
  redirectUri: `${location.origin}/`,
});
export const notes = createClient<Database>({ ...settings, auth: signIn }).table('notes');
export type { Note };
