/**
 * Where turns are kept: any object with `get`, `put` and `list`, such as a table of a database or the storage of a Durable Object.
 *
 * A `put` that has resolved survives the process. Keys and values are strings; keys have at most 300 characters.
 *
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
 * A write is on disk before anything leaves the object: requests and responses are held back until then. A value that is longer than the storage
 * takes is kept in parts.
 */
export const durableObjectStore = (storage: DurableObjectStorage): Store => ({
  get: async (key) => {
    const value = await storage.get(key)
    if (!isHead(value)) return typeof value === "string" ? value : undefined
    const parts = Array.from({ length: value.parts }, (_, n) => storage.get(partKey(key, n)))
    return (await Promise.all(parts)).join("")
  },
  put: (key, value) => {
    if (value.length <= PART_CHARACTERS) return storage.put(key, value)
    const parts = Math.ceil(value.length / PART_CHARACTERS)
    const partOf = (n: number) => value.slice(n * PART_CHARACTERS, (n + 1) * PART_CHARACTERS)
    // Writes that are made at once are on disk together, or none is.
    const written = Array.from({ length: parts }, (_, n) => storage.put(partKey(key, n), partOf(n)))
    return Promise.all([storage.put(key, { parts }), ...written])
  },
  list: async (prefix) => {
    const values = await storage.list({ prefix })
    return Array.from(values).flatMap(([key, value]): ReadonlyArray<readonly [string, string]> => {
      if (key.includes(PART_MARK)) return []
      if (!isHead(value)) return [[key, String(value)]]
      return [[key, Array.from({ length: value.parts }, (_, n) => values.get(partKey(key, n))).join("")]]
    })
  }
})

// --- internal

/** A value of a Durable Object has at most 128 KiB, and a character up to 2 bytes. */
const PART_CHARACTERS = 60_000

/** In no key of a turn. */
const PART_MARK = "#"

const partKey = (key: string, n: number): string => `${key}${PART_MARK}${n}`

/** What stands in the place of a value that is kept in parts. */
const isHead = (value: unknown): value is { readonly parts: number } =>
  typeof value === "object" && value !== null && "parts" in value && typeof value.parts === "number"
