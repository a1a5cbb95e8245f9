// Keeps the pass of an invited annotator in a cookie that only this site gets, so that a reload finds it.

export default function (component) {
  const { name, pass, days } = component.data;
  const secure = /^https/.test(location.protocol) ? "; Secure" : "";
  const age = pass ? days * 86400 : 0;
  document.cookie = `${name}=${encodeURIComponent(pass)}; Path=/; SameSite=Strict; Max-Age=${age}${secure}`;
}
