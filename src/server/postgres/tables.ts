/**
 * The tables. JSON is stored as text, because `jsonb` does not accept every character that JSON escapes. Indexes have a digest of the session, the user or
 * the app (`name`, `owner`, `scope`), because they accept no long texts.
 */
export const TABLES = `
create sequence {schema}.fences;

create table {schema}.nodes (
  name text collate "C" primary key, address text not null, until timestamptz not null
);

create table {schema}.sessions (
  n bigint generated always as identity primary key,
  name text collate "C" not null unique, owner text collate "C" not null,
  app text not null, user_id text not null, id text not null,
  title text, created_at bigint not null, updated_at bigint not null,
  fence bigint not null default 0, node text collate "C",
  operation uuid not null, last_operation uuid
);
create index on {schema}.sessions (owner);
create index on {schema}.sessions (node) where node is not null;

create table {schema}.state (
  scope text collate "C" not null, key text collate "C" not null, value text not null, primary key (scope, key)
);

create table {schema}.events (
  session bigint not null, seq integer not null, id text collate "C" not null, data text not null,
  operation uuid not null,
  primary key (session, seq), unique (session, id)
);

create table {schema}.messages (
  session bigint not null, seq integer not null, id text collate "C" not null, data text not null,
  has_failed boolean not null,
  primary key (session, seq), unique (session, id)
);

create table {schema}.waiting (
  session bigint not null, seq integer not null, id text collate "C" not null, data text not null,
  primary key (session, seq), unique (session, id)
);

create table {schema}.calls (
  n bigint generated always as identity primary key,
  session bigint not null, id text collate "C" not null, approval_id text collate "C",
  tool_name text not null, args text not null, args_hash text not null, runs_on text not null,
  status text not null, reason text, message_id text not null,
  agent text not null, invocation_id text not null, branch text,
  issued_at bigint not null, expires_at bigint, operation uuid,
  unique (session, id), unique (session, approval_id)
);
create index on {schema}.calls (session) where status <> 'settled';

create table {schema}.audit_lines (
  n bigint generated always as identity primary key,
  name text collate "C" not null, session_id text not null, user_id text not null,
  at bigint not null, kind text not null, approval_id text, tool_call_id text,
  tool_name text, args_hash text, args text, reason text, operation uuid unique
);
create index on {schema}.audit_lines (name, n);

create table {schema}.requests (
  session bigint not null, seq integer not null,
  request_id text collate "C" not null, message_id text, parts integer not null,
  primary key (session, seq), unique (session, request_id)
);

create table {schema}.files (
  session bigint not null, id text collate "C" not null, media_type text not null, bytes bytea not null,
  primary key (session, id)
);
`;
