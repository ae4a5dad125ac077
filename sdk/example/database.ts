// The tables of todo, as `svc tables types` prints them.

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

export type Database = {
  todos: {
    Row: {
      id: string;
      owner: string;
      title: string;
      done: boolean;
      created_at: string;
      updated_at: string;
    };
    Insert: {
      id?: string;
      owner?: string;
      title: string;
      done?: boolean;
    };
    Update: {
      title?: string;
      done?: boolean;
    };
  };
};
