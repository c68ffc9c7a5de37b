/** A conversation in the list. */
export interface SessionEntry {
  id: string;
  title: string | null;
  createdAt: number;
  updatedAt: number;
}

/** The server answered, and said no. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number) {
    super(`The server answered with status ${status}.`);
    this.status = status;
  }
}

/** The conversations on the server, the newest first. */
export async function listSessions(): Promise<SessionEntry[]> {
  const response = await request('/sessions');
  const { sessions } = (await response.json()) as { sessions: SessionEntry[] };
  return sessions.toSorted((one, other) => other.updatedAt - one.updatedAt);
}

/** Gives a conversation a name. */
export async function renameSession(id: string, title: string): Promise<void> {
  await request(`/sessions/${encodeURIComponent(id)}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: title.slice(0, 200) }),
  });
}

/** Removes a conversation from the server; one that is gone already is fine. */
export async function deleteSession(id: string): Promise<void> {
  try {
    await request(`/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error;
  }
}

/** Gives the server its key; a cookie remembers it. */
export async function login(key: string): Promise<void> {
  await request('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
}

async function request(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init);
  if (!response.ok) throw new Refusal(response.status);
  return response;
}
