-- How many days the history of rows is stored, and deleted rows can be restored; null: not at all.
alter table svc.app_tables
  add column history_days int check (history_days > 0),
  add column soft_delete_days int check (soft_delete_days > 0);
