/**
 * Reads fields of unknown values: foreign bodies and thrown values.
 *
 * Nothing here throws, for any value: getters that throw, revoked proxies and cycles read as absent.
 */

/** Reads a field of any value; `undefined`: there is none. */
export const get = (value: unknown, key: string): unknown => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined
  try {
    const field: unknown = Reflect.get(value, key)
    return field
  } catch {
    return undefined
  }
}

/** Reads a field that is a string and not empty. */
export const text = (value: unknown, key: string): string | undefined => {
  const field = get(value, key)
  return typeof field === "string" && field.trim() !== "" ? field : undefined
}

/** Reads the first of these fields that is a string and not empty. */
export const firstText = (value: unknown, keys: ReadonlyArray<string>): string | undefined => {
  for (const key of keys) {
    const field = text(value, key)
    if (field !== undefined) return field
  }
  return undefined
}

/** Returns the elements of a list, at most `limit`; none for any other value. */
export const list = (value: unknown, limit: number): ReadonlyArray<unknown> => {
  try {
    return Array.isArray(value) ? value.slice(0, limit) : []
  } catch {
    return []
  }
}

/** Whether a value can have fields. */
export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Whether a value is an `Error`; a proxy that throws is none. */
export const isError = (value: unknown): value is Error => {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** Encodes a value as JSON; an empty string if that is not possible. */
export const stringify = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}
