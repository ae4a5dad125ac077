-- Attributes of a member for filters of rows, such as {"region": "eu"}; text to text.
alter table svc.memberships add column attributes jsonb not null default '{}';
