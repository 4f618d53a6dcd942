//! The proxies that the environment names.

use ureq::Proxy;

use crate::Address;

/// The values of the environment's variables for proxies.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// `http_proxy`.
    pub http: Option<String>,
    /// `https_proxy`.
    pub https: Option<String>,
    /// `all_proxy`.
    pub all: Option<String>,
    /// `no_proxy`: names of servers, separated by commas. `*` stands for all, and `.example.org` for all below it.
    pub none_for: Option<String>,
}

impl Proxies {
    /// Returns the proxy for an address. A value that is not an address of a proxy is ignored, as in other programs.
    pub(crate) fn of(&self, address: &Address) -> Option<Proxy> {
        let own = if address.is_https() { &self.https } else { &self.http };
        let text = own.as_ref().or(self.all.as_ref()).filter(|text| !text.is_empty())?;
        if self.exempts(address.host()) {
            return None;
        }
        let proxy = Proxy::new(text).ok();
        if proxy.is_none() {
            log::warn!("{address}: the environment names a proxy whose address cannot be used");
        }
        proxy
    }

    /// Whether a server is reached without a proxy. An entry stands for a server and for all below it.
    fn exempts(&self, host: &str) -> bool {
        let entries = self.none_for.as_deref().unwrap_or_default().split(',').map(str::trim);
        entries.filter(|entry| !entry.is_empty()).any(|entry| {
            let name = entry.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
            let below = || host.strip_suffix(&*name).is_some_and(|before| before.ends_with('.'));
            entry == "*" || host == name || below()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_proxy() {
        let proxies = Proxies {
            http: Some("http://a:1".to_string()),
            all: Some("http://c:3".to_string()),
            none_for: Some("localhost, .example.org,*.net".to_string()),
            ..Proxies::default()
        };
        let port = |text: &str| proxies.of(&Address::parse(text).unwrap()).map(|proxy| proxy.port());
        assert_eq!(port("http://host/x"), Some(1));
        if cfg!(feature = "https") {
            assert_eq!(port("https://host/x"), Some(3));
        }
        for exempt in ["http://localhost:8080/x", "http://example.org/", "http://a.example.org/x", "http://a.net/"] {
            assert_eq!(port(exempt), None, "{exempt}");
        }
        assert_eq!(port("http://notexample.org/x"), Some(1));
        let none = Proxies { none_for: Some("*".to_string()), ..proxies.clone() };
        assert!(none.of(&Address::parse("http://host/x").unwrap()).is_none());
        let invalid = Proxies { http: Some("a b".to_string()), ..Proxies::default() };
        assert!(invalid.of(&Address::parse("http://host/x").unwrap()).is_none());
    }
}
