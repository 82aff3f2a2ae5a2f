/** Prompts that were not sent, by their field: they survive navigation and reload, and go with the tab. */

/** A draft; empty: there is none. */
export const of = (field: string): string => {
  try {
    return sessionStorage.getItem(PREFIX + field) ?? ""
  } catch {
    return "" // The browser has no storage.
  }
}

/** Keeps a draft; an empty one is removed. */
export const keep = (field: string, text: string): void => {
  try {
    if (text === "") sessionStorage.removeItem(PREFIX + field)
    else sessionStorage.setItem(PREFIX + field, text)
  } catch {
    // Without storage, or beyond its room, the text lasts as long as its field.
  }
}

// --- internal

const PREFIX = "holdfast.draft."
