/**
 * Where turns are kept: any object with `get`, `put` and `list`, such as a table of a database or the storage of a Durable Object.
 *
 * KeyValueStore.S1. A `put` that has resolved survives the process. Keys and values are strings; keys have at most 300 characters.
 * KeyValueStore.S2. One process writes a turn's keys at a time: two that run the same turn call its model twice.
 */

/** A value, or a promise of it. */
export type Awaitable<A> = A | PromiseLike<A>

/** Keeps strings under keys. */
export interface Store {
  /** The value under a key; `undefined` (or `null`): there is none. */
  get(key: string): Awaitable<string | null | undefined>
  /** Writes a value; its result is awaited and ignored. */
  put(key: string, value: string): Awaitable<unknown>
  /** All keys that start with the prefix, with their values, in any order. */
  list(prefix: string): Awaitable<Iterable<readonly [key: string, value: string]>>
}

/** Keeps turns in memory: they end with the process. */
export const memoryStore = (): Store => {
  const values = new Map<string, string>()
  return {
    get: (key) => values.get(key),
    put: (key, value) => void values.set(key, value),
    list: (prefix) => {
      const found: Array<readonly [key: string, value: string]> = []
      for (const entry of values) if (entry[0].startsWith(prefix)) found.push(entry)
      return found
    }
  }
}

/** The part of a Durable Object's `ctx.storage` that turns are kept in. */
export interface DurableObjectStorage {
  get(key: string): Promise<unknown>
  put(key: string, value: unknown): Promise<void>
  list(options: { readonly prefix: string }): Promise<Map<string, unknown>>
}

/**
 * Keeps turns in the storage of a Durable Object: `durableObjectStore(ctx.storage)`.
 *
 * A write is on disk before anything leaves the object: requests and responses are held back until then.
 */
export const durableObjectStore = (storage: DurableObjectStorage): Store => ({
  get: async (key) => textOrNothing(await storage.get(key)),
  put: (key, value) => storage.put(key, value),
  list: async (prefix) =>
    Array.from(await storage.list({ prefix }), ([key, value]): readonly [string, string] => [key, String(value)])
})

// --- internal

const textOrNothing = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
