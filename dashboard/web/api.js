// Talking to the server. A token, when given, lives in this tab only (sessionStorage) and is sent as
// a bearer header; there are no cookies, so no other site can borrow it.

export class ApiError extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export function token() {
  return sessionStorage.getItem('steady.token') ?? '';
}

export function setToken(value) {
  if (value) sessionStorage.setItem('steady.token', value.trim());
  else sessionStorage.removeItem('steady.token');
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'the server does not answer', null);
  }
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (!response.ok) {
    throw new ApiError(response.status, body?.error?.message ?? `status ${response.status}`, body);
  }
  return body;
}

export function get(path, signal) {
  return ask(path, { signal });
}

export async function getText(path) {
  const headers = token() ? { Authorization: `Bearer ${token()}` } : {};
  const response = await fetch(path, { headers });
  if (!response.ok) throw new ApiError(response.status, `status ${response.status}`, null);
  return response.text();
}

export function post(path, text, signal) {
  return ask(path, {
    method: 'POST',
    body: text,
    signal,
    headers: { 'Content-Type': 'application/json' },
  });
}
