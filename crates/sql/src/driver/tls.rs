//! Encrypted connections, and whose certificates are believed.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use crate::{ErrorCode, SqlError, Tls};

/// How a TLS client behaves that is asked for `tls`.
pub(super) fn client(tls: Tls, authorities: Option<&Path>) -> Result<ClientConfig, SqlError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?;
    let config = match tls {
        Tls::VerifyFull => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(authorities)?);
            builder.with_root_certificates(roots)
        }
        Tls::Disable | Tls::Prefer | Tls::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        }
    };
    Ok(config.with_no_client_auth())
}

/// The certificates of the authorities in a file, or of those that the system believes.
pub(super) fn certificates(
    authorities: Option<&Path>,
) -> Result<Vec<CertificateDer<'static>>, SqlError> {
    let found = match authorities {
        Some(path) => CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|fault| unreadable(&format!("{}: {fault}", path.display())))?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    if found.is_empty() {
        return Err(unreadable(&"no certificate was found"));
    }
    Ok(found)
}

fn unreadable(detail: &impl ToString) -> SqlError {
    let message = "the certificates of the authorities cannot be read; name a file of PEM certificates in the profile";
    SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_detail(detail)
}

/// Believes that every server is the right one: what `prefer` and `require` mean.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
