/** How a browser becomes known to the daemon, and gets a ticket for each connection. */

const SECRET = 'shard.client_secret';

type Fetch = typeof fetch;
type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The daemon answered with a status that is no success. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string
  ) {
    super(message);
    this.name = 'Refused';
  }
}

export interface Ticket {
  ticket: string;
  protocol_version?: string;
}

export interface EnrollmentCode {
  code: string;
  nonce: string;
  expires_at: number;
}

export class Enrollment {
  readonly #fetch: Fetch;
  readonly #store: Store;

  constructor(fetch: Fetch, store: Store) {
    this.#fetch = fetch;
    this.#store = store;
  }

  get secret(): string | null {
    return this.#store.getItem(SECRET);
  }

  /** Trades a one-time setup token for this browser's secret. */
  async useToken(token: string): Promise<void> {
    const response = await this.#post('/enroll/token', { token });
    this.#keep(await response.json());
  }

  async start(): Promise<EnrollmentCode> {
    const response = await this.#post('/enroll/start', {});
    return (await response.json()) as EnrollmentCode;
  }

  /** `false` while nobody has approved the code. */
  async claim(nonce: string): Promise<boolean> {
    const response = await this.#post('/enroll/claim', { nonce });
    if (response.status === 202) return false;
    this.#keep(await response.json());
    return true;
  }

  /** A ticket for one WebSocket. `Refused` with 401 means that this browser is not enrolled. */
  async ticket(): Promise<Ticket> {
    const secret = this.secret;
    if (!secret) throw new Refused(401, 'This browser is not set up yet.');
    const response = await this.#post('/bootstrap', { client_secret: secret });
    return (await response.json()) as Ticket;
  }

  async logout(): Promise<void> {
    try {
      await this.#post('/logout', {});
    } finally {
      this.#store.removeItem(SECRET);
    }
  }

  #keep(answer: unknown): void {
    const secret = (answer as { client_secret?: unknown }).client_secret;
    if (typeof secret !== 'string') throw new Refused(500, 'The daemon sent no secret. Is it up to date?');
    this.#store.setItem(SECRET, secret);
  }

  async #post(path: string, body: unknown): Promise<Response> {
    const response = await this.#fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body)
    });
    if (!response.ok) throw new Refused(response.status, await reasonOf(response));
    return response;
  }
}

/** The daemon's own words, where it has any that fit a line. */
async function reasonOf(response: Response): Promise<string> {
  const fallback = `The daemon answered ${response.status}.`;
  const text = (await response.text().catch(() => '')).trim();
  if (!text) return fallback;
  try {
    const body = JSON.parse(text) as { message?: string; error?: string | { message?: string } };
    const error = typeof body.error === 'string' ? body.error : body.error?.message;
    return body.message ?? error ?? fallback;
  } catch {
    return text.length < 300 && !text.startsWith('<') ? text : fallback;
  }
}
