-- The life of an app between its creation and its purge.

alter table svc.apps
  -- What the record was when the app was deleted, for a restore to bring back.
  add column deleted_from text check (deleted_from in ('active', 'archived')),
  -- What is put away or deleted does not run.
  add check (record = 'active' or runtime <> 'running');

-- Sign-ins through an app end with it.
create index oauth_models_client on svc.oauth_models (client_id);
-- Tokens that are limited to apps, by these.
create index pats_apps on svc.pats using gin (apps);
